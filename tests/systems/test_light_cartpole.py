"""Cart-pole with a cart of a millionth of the bob's mass: its speed has spikes of a microsecond.

Reference: data/reference/light_cartpole.json, a benchmark proposal to the IFToMM library.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, Equations
from cosim import Diagram, simulate
from tests.helpers.checked import closed_form, independent, published
from tests.helpers.plants import reference

KNOWN = reference("light_cartpole")
P, START = KNOWN["parameters"], KNOWN["initial_state"]


LIGHT = "cart-pole with a light cart"


@dataclass(frozen=True)
class LightCartPole(Block):
    """(M+m) x'' + m l (cos q q'' - sin q q'^2) = 0,  l q'' + cos q x'' + g sin q = 0, solved for x'', q''."""

    M: float = P["M"]
    m: float = P["m"]
    l: float = P["l"]
    g: float = P["g"]

    def define(self, b: Equations) -> None:
        M, m, l, g = b.parameters(M=self.M, m=self.m, l=self.l, g=self.g)
        x, q = b.continuous("x", START["x"]), b.continuous("q", START["theta"])
        xd, qd = b.continuous("xd", START["xd"]), b.continuous("qd", START["thd"])
        s, c = np.sin(q), np.cos(q)
        mass = M + m * s * s
        b.derivative(x, xd)
        b.derivative(q, qd)
        b.derivative(xd, m * s * (l * qd * qd + g * c) / mass)
        b.derivative(qd, -s * (m * l * qd * qd * c + (M + m) * g) / (l * mass))
        b.output("x", x)
        b.output("theta", q)
        b.output("rates", np.stack([xd[0], qd[0]]))
        b.when(q[0], [], "both", "lowest point")


def cartpole() -> Diagram:
    d = Diagram("light cart-pole")
    d.add("pole", LightCartPole())
    return d


def error(r, x, theta):
    """The benchmark's error: root mean square of the deviations over all samples."""
    return np.sqrt(np.mean(((r["pole.x"][:, 0] - x) / P["l"]) ** 2 + (r["pole.theta"][:, 0] - theta) ** 2))


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["dopri5", "DOP853"])
def test_published_rows(checked, solver):
    rows = np.array(KNOWN["published"]["rows"])
    r = simulate(cartpole(), KNOWN["t_end"], solver=solver, rtol=1e-10, atol=1e-10, log_at=rows[:, 0],
                 engine="reference")  # fmt: skip
    deviation, proposal = (
        error(r, rows[:, 1], rows[:, 2]),
        published("benchmark proposal to the IFToMM library"),
    )
    checked(deviation, 0.0, LIGHT, "root mean square error", proposal, atol=KNOWN["accept"]["e"])


@pytest.mark.slow
def test_crossings_and_conserved_quantities(checked):
    """All eleven passages, and over the benchmark's 1001 samples the closed forms of momentum and energy."""
    r = simulate(cartpole(), KNOWN["t_end"], rtol=1e-11, atol=1e-11, log_every=0.01)
    times, quadrature = [e.time for e in r.events], independent("DOP853 of SciPy")
    checked(times, KNOWN["own"]["crossing_times"], LIGHT, "crossing times", quadrature, atol=1e-7)
    x, theta = r["pole.x"][:, 0], r["pole.theta"][:, 0]
    assert len(x) == 1001
    fixed = P["m"] * P["l"] * (np.sin(START["theta"]) - np.sin(theta)) / (P["M"] + P["m"])
    assert np.sqrt(np.mean((x - fixed) ** 2)) <= KNOWN["accept"]["e"]
    xd, qd = r["pole.rates"].T
    M, m, l, g = P["M"], P["m"], P["l"], P["g"]
    kinetic = ((M + m) * xd**2 + m * l**2 * qd**2) / 2 + m * l * np.cos(theta) * xd * qd
    fallen = np.cos(theta) - np.cos(START["theta"])
    checked(
        kinetic,
        m * g * l * fallen,
        LIGHT,
        "energy",
        closed_form("m g l (cos q - cos q0)"),
        atol=1e-8 * m * g * l,
    )
    closed = 2 * g * (M + m) * fallen / (l * (M + m * np.sin(theta) ** 2))  # the closed form of the benchmark
    checked(qd**2, closed, LIGHT, "rate squared", closed_form("energy and momentum"), rtol=3e-7, atol=3e-7)


@pytest.mark.slow
def test_rates(checked):
    """The speeds of the reference's own rows, in the spikes too."""
    rows = np.array(KNOWN["own"]["rows"])
    r = simulate(cartpole(), KNOWN["t_end"], rtol=1e-11, atol=1e-11, log_at=rows[:, 0])
    quadrature = independent("DOP853 of SciPy")
    checked(r["pole.rates"], rows[:, 3:], LIGHT, "rates", quadrature, atol=2e-6, rtol=1e-7)
