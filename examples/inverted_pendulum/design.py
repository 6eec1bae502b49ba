"""Design the controller of this folder: linearise, discretise, LQR, close the loop, compare the poles.

python examples/inverted_pendulum/design.py
"""

from pathlib import Path
from typing import NamedTuple

import control
import numpy as np

from blocks import Mux, StateFeedback
from cosim import Diagram, linearize, simulate
from plant import Plant

MODEL = Path(__file__).with_name("inverted_pendulum.xml")
SAMPLE = 0.01  # s
OUTPUTS = ["pendulum[0]", "pendulum[1]", "slider[0]", "slider[1]"]  # theta, omega, x, v
Q = np.diag([100.0, 1.0, 10.0, 1.0])  # weights of their squares
R = [[0.1]]  # weight of the squared force
K_REFERENCE = [
    76.42764284,
    18.41168527,
    -23.1954329,
    -13.96660046,
]  # the same design from the hand-made model


class Design(NamedTuple):
    """What comes out: the gain (1, 4) on the outputs, and the closed-loop poles (4,) found in three ways."""

    K: np.ndarray
    designed: np.ndarray  # of the discrete regulator problem
    closed: np.ndarray  # of the exact discrete model of the wired diagram
    simulated: np.ndarray  # fitted to the samples of a run of the nonlinear diagram


def regulator(plant: Plant) -> tuple[np.ndarray, np.ndarray]:
    """Gain on the measured outputs, and the poles it should give."""
    model = linearize(plant)  # about the upright rest position
    outputs = [model.output_labels.index(name) for name in OUTPUTS]
    force = [model.input_labels.index("control_force")]
    C = model.C[outputs]
    discrete = control.c2d(control.ss(model.A, model.B[:, force], C, np.zeros((4, 1))), SAMPLE, "zoh")
    K, _, poles = control.dlqr(discrete, C.T @ Q @ C, R)
    return K @ np.linalg.inv(C), poles


def closed_loop(plant: Plant, K: np.ndarray) -> Diagram:
    """The plant with the sampled feedback of all four outputs."""
    d = Diagram("closed_loop")
    p = d.add("plant", plant)
    y = d.add("y", Mux(2))
    c = d.add("controller", StateFeedback(K, sample=SAMPLE))
    d.connect(p["pendulum"], y["in1"])
    d.connect(p["slider"], y["in2"])
    d.connect(y["out"], c["x"])
    d.connect(c["u"], p["control_force"])
    d.ground(p["disturbance_force"])
    return d


def fitted_poles(d: Diagram) -> np.ndarray:
    """Poles of the linear map from sample to sample that fits a run with a small angle best."""
    start = {"plant.hinge.q": 1e-4}  # rad; what is not linear is of the order of its cube
    r = simulate(d, until=1.0, initial=start, log_every=SAMPLE, rtol=1e-12, atol=1e-16)
    y = r["y.out"]
    step, *_ = np.linalg.lstsq(y[:-1], y[1:], rcond=None)
    return np.linalg.eigvals(step)


def main() -> Design:
    """Design, close the loop, and print the poles side by side."""
    plant = Plant.read(MODEL)
    K, designed = regulator(plant)
    d = closed_loop(plant, K)
    found = Design(
        K, *(np.sort_complex(p) for p in (designed, linearize(d, [], []).poles(), fitted_poles(d)))
    )
    print(f"K = {np.round(K[0], 6)}, known answer {np.round(K_REFERENCE, 6)}")
    print("poles designed              of the closed diagram       fitted to a simulation")
    for poles in zip(found.designed, found.closed, found.simulated, strict=True):
        print("   ".join(f"{p.real:.9f} {p.imag:+.9f}j" for p in poles))
    return found


if __name__ == "__main__":
    main()
