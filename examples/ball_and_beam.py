"""A ball rolls on a beam; an extended Kalman filter feeds the balance.

r'' = 5/7 (r a'^2 - g sin(a)), a'' = u: a ball without slip on a beam that a motor turns. The filter gets
the place and the angle, with the noise of the sensors, and carries a covariance along its own estimate; at
rest this covariance is the solution of a Riccati equation, found by SciPy.

python examples/ball_and_beam.py
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_are

from blocks import EKF, LQR, ODE, RandomNumber, Sum
from blocks.contract.symbols import Array
from cosim import Diagram, linearize, simulate

G, SAMPLE = 9.81, 0.02  # m/s2, s
NOISE = np.array([1e-3, 1e-3])  # m and rad, of the sensors
DISTURBANCE = np.diag([1e-10, 1e-6, 1e-10, 1e-6])  # added to the state from tick to tick
START = [0.4, 0.0, 0.0, 0.0]  # m, m/s, rad, rad/s


class Balance(NamedTuple):
    """Covariance of the filter and that of the Riccati equation; place of the ball [m] at the end."""

    found: np.ndarray
    known: np.ndarray
    place: float


def rolling(t: float, x: Array, u: Array) -> list[Array]:
    """State derivative: place and speed of the ball, angle and rate of the beam."""
    return [x[1], 5 / 7 * (x[0] * x[3] ** 2 - G * np.sin(x[2])), x[3], u[0]]


def seen(t: float, x: Array, u: Array) -> list[Array]:
    """What the sensors see: the place of the ball and the angle of the beam."""
    return [x[0], x[2]]


PLANT = ODE(rolling, START, seen, inputs=1)


def loop() -> Diagram:
    """Beam, sensors, filter and regulator."""
    d = Diagram("ball_and_beam")
    model = linearize(PLANT, at={"x": np.zeros(4)})
    d.add("beam", PLANT)
    d.add("noise", RandomNumber(sample=SAMPLE, variance=NOISE**2))
    d.add("sensors", Sum("++"))
    d.add("filter", EKF(rolling, seen, DISTURBANCE, NOISE**2, START, P0=1e-4, inputs=1, sample=SAMPLE))
    d.add("balance", LQR((model.A, model.B), Q=[1.0, 0.1, 1.0, 0.1], R=0.1, sample=SAMPLE))
    d.connect("beam.y -> sensors.in1", "noise.y -> sensors.in2", "sensors.y -> filter.y")
    d.connect("filter.x -> balance.x", "balance.u -> beam.u, filter.u")
    return d


def riccati() -> np.ndarray:
    """Covariance of the prediction at rest: of the ball's model, sampled as four steps of rk4 do."""
    A = np.array([[0, 1, 0, 0], [0, 0, -5 / 7 * G, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    powers = [np.linalg.matrix_power(A * SAMPLE, k) for k in range(5)]
    F = sum(power / factor for power, factor in zip(powers, (1, 1, 2, 6, 24), strict=True))
    C = np.eye(4)[[0, 2]]
    return solve_discrete_are(F.T, C.T, DISTURBANCE, np.diag(NOISE**2))


def main(until: float = 20.0) -> Balance:
    """Let go beside the middle, and wait until ball and filter rest."""
    r = simulate(loop(), until=until, log_every=SAMPLE, signals=["beam.y", "filter.P", "filter.x"])
    found, known = r["filter.P"][-1].reshape(4, 4), riccati()
    place = float(np.abs(r["beam.y"][r.time > until - 5.0, 0]).max())
    for name, k in (("place", 0), ("angle", 2)):
        shown = [1e3 * np.sqrt(P[k, k]) for P in (found, known)]
        print(f"expected error of the {name}: {shown[0]:.6f} mm or mrad, known answer {shown[1]:.6f}")
    print(f"farthest from the middle in the last seconds: {1e3 * place:.2f} mm")
    return Balance(found, known, place)


if __name__ == "__main__":
    main()
