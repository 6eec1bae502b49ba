"""Position over speed over torque, with limits on both: a cascade of PID controllers that does not wind up.

J w' = T - load, theta' = w. The outer controller asks for a speed within 12 rad/s, the inner one for a torque
within 3 N m; both integrate. A turn of 20 rad needs full torque, then full speed, and both integrals have to
let go in time. The known answer is the same loop by SciPy, with the clipped laws written out; without
anti-windup the shaft overshoots far.

python examples/position_cascade.py
"""

from typing import NamedTuple

import numpy as np

from blocks import PID, Constant, Integrator, Step
from cosim import Diagram, simulate

INERTIA, TORQUE, SPEED = 0.1, 3.0, 12.0  # kg m2, N m, rad/s
TURN, LOAD, AT = 20.0, 0.8, 4.0  # rad, N m from then on [s]
OUTER = {"kp": 5.0, "ki": 2.0, "low": -SPEED, "high": SPEED, "tracking": 0.2}
INNER = {"kp": 2.0, "ki": 10.0, "low": -TORQUE, "high": TORQUE, "tracking": 0.1}


class Turn(NamedTuple):
    """Angles [rad] at every tenth of a second, those by SciPy, the overshoot, that without anti-windup."""

    angle: np.ndarray
    known: np.ndarray
    overshoot: float
    wound_up: float
    fastest: float  # rad/s that were asked for


def cascade(anti_windup: str = "back-calculation") -> Diagram:
    """The shaft and its two controllers."""
    d = Diagram("cascade")
    wanted, load = d.add("wanted", Constant(TURN)), d.add("load", Step(AT, 0.0, LOAD))
    w, theta = d.add("w", Integrator()), d.add("theta", Integrator())
    outer = d.add("outer", PID(**OUTER, anti_windup=anti_windup))
    inner = d.add("inner", PID(**INNER, anti_windup=anti_windup))
    (wanted - theta) >> outer
    (outer - w) >> inner
    (inner - load) * (1.0 / INERTIA) >> w >> theta
    return d


def by_scipy(t: np.ndarray) -> np.ndarray:
    """The angle at times t [s]."""
    from scipy.integrate import solve_ivp

    def law(e, i, kp, ki, low, high, tracking):
        v = kp * e + i
        u = min(max(v, low), high)
        return u, ki * e + (u - v) / tracking

    def rates(load):
        def f(_, y):
            theta, w, i, j = y
            speed, di = law(TURN - theta, i, **OUTER)
            torque, dj = law(speed - w, j, **INNER)
            return [w, (torque - load) / INERTIA, di, dj]

        return f

    found, y = [], np.zeros(4)
    for part, load in ((t[t < AT], 0.0), (t[t >= AT], LOAD)):
        begin, end = (0.0, AT) if load == 0.0 else (AT, t[-1])
        run = solve_ivp(rates(load), (begin, end), y, "DOP853", part, rtol=1e-10, atol=1e-11, max_step=2e-3)
        found.append(run.y[0])
        y = solve_ivp(rates(load), (begin, end), y, "DOP853", rtol=1e-10, atol=1e-11, max_step=2e-3).y[:, -1]
    return np.concatenate(found)


def main(until: float = 8.0) -> Turn:
    """Turn it with and without anti-windup."""
    r = simulate(cascade(), until=until, log_every=0.1, rtol=1e-9)
    wound = simulate(cascade("none"), until=until, log_every=0.1)
    angle, known = r["theta.y"][:, 0], by_scipy(r.time)
    answer = Turn(
        angle, known, *(float(x["theta.y"].max() - TURN) for x in (r, wound)), float(r["outer.u"].max())
    )
    for at in (1.0, 2.5, 5.0):
        k = round(at / 0.1)
        print(f"at {at} s {angle[k]:.6f} rad, known answer {known[k]:.6f} rad")
    print(f"overshoot {answer.overshoot:.3f} rad, of integrals that wind up {answer.wound_up:.3f} rad")
    return answer


if __name__ == "__main__":
    main()
