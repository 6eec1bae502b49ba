"""A pump drives a cylinder against a spring, through a valve that opens: where does the piston come to rest?

The pump delivers Q, of which C p1 leaks at its pressure p1; the rest flows through the valve, q = k A
sqrt(p1 - p), into the cylinder, whose oil of bulk modulus B has the pressure p. The piston with the area S
stands where the spring balances it, x = S p / K. The flow q depends on p1 and p1 on q: an algebraic loop,
which `AlgebraicConstraint` solves at every evaluation. It is a quadratic equation, so that SciPy can check
the way, and the rest is x = S Q / (C K).

python examples/hydraulic_cylinder.py
"""

from typing import NamedTuple

import numpy as np

from blocks import AlgebraicConstraint, Function, Integrator, TimeTable
from cosim import Diagram, simulate

PUMP, LEAK = 5e-3, 2e-9  # m3/s, m3/s/Pa
AREA, VOLUME, BULK, SPRING = 1e-3, 2.5e-5, 7e8, 5e4  # m2, m3, Pa, N/m
VALVE = 0.61 * np.sqrt(2 / 800.0)  # m3/s of the flow per m2 and sqrt(Pa): coefficient and density of the oil
OPEN = ([0.0, 0.02, 0.1], [1e-6, 1e-6, 4.5e-5])  # s, m2


class Cylinder(NamedTuple):
    """Places of the piston [m] half way and at the end."""

    on_the_way: float
    end: float


def missing(q, p, area):
    """What is left of the law of the valve at a flow q, in squares: both sides are smooth there."""
    return (PUMP - q) / LEAK - p - q * np.abs(q) / (VALVE * area) ** 2


def rate(q, p):
    """p' [Pa/s]: the flow against what the oil gives way by, and the piston."""
    return q / ((VOLUME + AREA**2 * p / SPRING) / BULK + AREA**2 / SPRING)


def cylinder() -> Diagram:
    """Pump, valve, cylinder and spring."""
    d = Diagram("cylinder")
    p = d.add("p", Integrator(0.0))
    d.add("valve", TimeTable(*OPEN))
    d.add("flow", AlgebraicConstraint(guess=1e-3))
    d.add("law", Function(lambda q, p, area: missing(q, p, area) / 1e6))
    d.add("fill", Function(rate))
    d.connect("flow -> law.q, fill.q", "p -> law.p, fill.p", "valve -> law.area", "law -> flow", "fill -> p")
    d.outport("x", (AREA / SPRING) * p)
    return d


def by_scipy(times: list[float]) -> np.ndarray:
    """Places of the piston at these instants; the flow from its quadratic equation."""
    from scipy.integrate import solve_ivp

    def rates(t, p):
        k2 = (VALVE * np.interp(t, *OPEN)) ** 2
        half = 0.5 * k2 / LEAK
        q = -half + np.sqrt(half**2 + k2 * (PUMP / LEAK - p))
        return rate(q, p)

    found, p, begin = [], 0.0, 0.0
    for end in sorted({*OPEN[0][1:], *times}):  # from corner to corner
        p = solve_ivp(rates, (begin, end), np.atleast_1d(p), "Radau", rtol=1e-11, atol=1e-3).y[:, -1]
        begin = end
        found += [p[0]] * (end in times)
    return np.array(found) * AREA / SPRING


def main(until: float = 0.4) -> tuple[Cylinder, Cylinder]:
    """Run it, and print both."""
    r = simulate(
        cylinder(),
        until=until,
        log_at=[until / 4, until],
        rtol=1e-9,
        atol=1e-3,
        solver="rodas4",
    )
    found, answer = Cylinder(*r["x"][:, 0].tolist()), Cylinder(*by_scipy([until / 4, until]))
    print(f"after {until / 4} s: {found.on_the_way:.9f} m, known answer {answer.on_the_way:.9f} m")
    print(f"at the end: {found.end:.9f} m, known answer {AREA * PUMP / LEAK / SPRING:.9f} m")
    return found, answer


if __name__ == "__main__":
    main()
