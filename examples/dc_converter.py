"""A buck converter: 24 V chopped at 50 kHz, smoothed by a coil and a capacitor, its duty set by a controller.

L i' = d V - R i - v,  C v' = i - v / load, d = 1 in the first part of every period: the ends of pulses are
events. In open loop the state after a period is a linear map of that before it, and the periodic state is
its fixed point: that gives the current exactly. In closed loop a sampled PI sets the duty, and the output
at its ticks is what is asked for.

python examples/dc_converter.py
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from blocks import PWM, Constant, Demux, DiscretePID, StateSpace, Sum
from cosim import Diagram, simulate

V, R, L, C, LOAD = 24.0, 0.05, 47e-6, 100e-6, 4.0  # V, ohm, H, F, ohm
PERIOD, DUTY, WANTED = 20e-6, 0.5, 12.0  # s, -, V
A = np.array([[-R / L, -1 / L], [1 / C, -1 / (C * LOAD)]])  # of i, v
INPUT = np.array([[1 / L], [0.0]])


class Converter(NamedTuple):
    """Current at the start and at the end of a pulse [A], found and known; output of the closed loop [V]."""

    found: np.ndarray
    known: np.ndarray
    output: float


def periodic() -> np.ndarray:
    """The current at the start and the end of a pulse once all periods are alike, [A]."""
    on, off = (expm(A * part * PERIOD) for part in (DUTY, 1 - DUTY))
    pushed = np.linalg.solve(A, (on - np.eye(2)) @ INPUT[:, 0] * V)
    start = np.linalg.solve(np.eye(2) - off @ on, off @ pushed)
    return np.array([start[0], (on @ start + pushed)[0]])


def converter(controlled: bool) -> Diagram:
    """Bridge, coil and capacitor; the duty is fixed, or that of a PI controller."""
    d = Diagram("converter")
    d.add("bridge", PWM(PERIOD, on_value=V))
    d.add("filter", StateSpace(A, INPUT, np.eye(2)))
    d.add("state", Demux(2))  # i, v
    d.connect("bridge.y -> filter.u", "filter.y -> state.in")
    if controlled:
        d.add("wanted", Constant(WANTED))
        d.add("error", Sum("+-"))
        d.add("duty", DiscretePID(kp=0.002, ki=20.0, low=0.0, high=1.0, sample=PERIOD))
        d.connect(
            "wanted.y -> error.in1", "state.out2 -> error.in2", "error.y -> duty.e", "duty.u -> bridge.u"
        )
    else:
        d.add("duty", Constant(DUTY))
        d.connect("duty.y -> bridge.u")
    return d


def main() -> Converter:
    """Run until all periods are alike, open; then closed."""
    known = periodic()
    end = 1000 * PERIOD * 10
    r = simulate(
        converter(False), until=end + PERIOD, log_at=[end, end + DUTY * PERIOD], rtol=1e-9, atol=1e-9
    )
    found = r["state.out1"][:, 0]
    for where, i, right in zip(("start", "end"), found, known, strict=True):
        print(f"current at the {where} of a pulse: {i:.6f} A, known answer {right:.6f} A")
    closed = simulate(converter(True), until=0.05, log_at=[0.05])
    output = float(closed["state.out2"][-1, 0])
    print(f"output at a tick of the closed loop: {output:.6f} V, known answer {WANTED:.6f} V")
    return Converter(found, known, output)


if __name__ == "__main__":
    main()
