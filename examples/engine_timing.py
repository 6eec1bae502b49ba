"""A four-cylinder engine that burns, half a turn later, what its pistons have drawn in: how fast does it get?

The manifold fills at a pressure P [bar] and the pistons empty it; every half turn the mass m [g] drawn in
during the last one is shut in and makes the torque. The moment is a crossing of the crank angle: `Triggered`,
without a sample time. The same crossing empties the integrator of the mass; its state port shows what it was.

Equations: Crossley & Cook, A nonlinear engine model for drivetrain system development, IEE Control 91 (1991)
921-925.

python examples/engine_timing.py
"""

from typing import NamedTuple

import numpy as np

from blocks import Function, Gain, Integrator, Step
from cosim import Diagram, Triggered, simulate

SPARK, RATIO = 15.0, 14.6  # deg before the top, mass of air to fuel
INERTIA, FILLING = 0.14, 0.41328  # kg m2, bar/g
LOADS, CHANGE = (25.0, 20.0), 0.4  # N m, s
START = (0.543, 209.48)  # bar, rad/s


class Engine(NamedTuple):
    """Pressure [bar], speed [rad/s] and burnt mass [g] at the end, of the diagram and of SciPy."""

    found: np.ndarray
    known: np.ndarray


def inflow(P, throttle=8.97):
    """Air through the throttle [g/s]."""
    area = 2.821 - 0.05231 * throttle + 0.10299 * throttle**2 - 0.00063 * throttle**3
    return area * np.where(P <= 0.5, 1.0, 2.0 * np.sqrt(np.maximum(P - P**2, 0.0)))


def pumped(P, N):
    """Air drawn into the cylinders [g/s]."""
    return -0.366 + 0.08979 * N * P - 0.0337 * N * P**2 + 0.0001 * N**2 * P


def torque(m, N):
    """Torque of the burnt charge [N m]."""
    fixed = -181.3 + 21.91 * RATIO - 0.85 * RATIO**2 + 0.26 * SPARK - 0.0028 * SPARK**2
    speed = 0.027 * N - 0.000107 * N**2 + 0.00048 * N * SPARK
    return fixed + speed + (379.36 + 2.55 * SPARK - 0.05 * SPARK**2) * m


def engine() -> Diagram:
    """The engine and its load."""
    d = Diagram("engine")
    P, N = d.add("P", Integrator(START[0])), d.add("N", Integrator(START[1]))
    d.add("inflow", Function(lambda P: inflow(P)))
    d.add("pumped", Function(pumped))
    d.add("torque", Function(torque))
    d.add("load", Step(CHANGE, LOADS[0], LOADS[1]))
    d.add("turn", Integrator())  # rad
    d.add("drawn", Integrator(reset="either", threshold=0.0, state_port=True))  # g
    d.add("valve", Function(np.sin))
    d.add("charge", Triggered(Gain(1.0), edge="either"))
    d.connect("P.y -> inflow.P, pumped.P", "N.y -> pumped.N, torque.N, turn.u", "pumped.y -> drawn.u")
    d.connect(
        "turn.y -> valve",
        "valve.y -> charge.trigger, drawn.reset",
        "drawn.state -> charge.u",
        "charge.y -> torque.m",
    )
    FILLING * (d["inflow"] - d["pumped"]) >> P
    (d["torque"] - d["load"]) * (1 / INERTIA) >> N
    return d


def by_scipy(until: float) -> np.ndarray:
    """The same from half turn to half turn; states are P, N, the angle and the mass drawn in since."""
    from scipy.integrate import solve_ivp

    t, y, m = 0.0, np.array([*START, 0.0, 0.0]), 0.0
    while t < until:
        load, end = (LOADS[0], CHANGE) if t < CHANGE else (LOADS[1], until)

        def rates(_, y, m=m, load=load):
            out = pumped(y[0], y[1])
            return [FILLING * (inflow(y[0]) - out), (torque(m, y[1]) - load) / INERTIA, y[1], out]

        def half(_, y):
            return y[2] - np.pi

        half.terminal = True
        part = solve_ivp(rates, (t, end), y, "DOP853", events=half, rtol=1e-11, atol=1e-12)
        t, y = part.t[-1], part.y[:, -1].copy()
        if part.status == 1:
            y[2:], m = (0.0, 0.0), y[3]
    return np.array([y[0], y[1], m])


def main(until: float = 1.0) -> Engine:
    """Run it, and print both ends."""
    r = simulate(engine(), until=until, log_every=0.01, rtol=1e-9)
    answer = Engine(np.array([r[name][-1, 0] for name in ("P.y", "N.y", "charge.y")]), by_scipy(until))
    for name, found, known in zip(("bar", "rad/s", "g"), *answer, strict=True):
        print(f"{found:.8f} {name}, known answer {known:.8f} {name}")
    return answer


if __name__ == "__main__":
    main()
