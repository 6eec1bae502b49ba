"""Energy attrition of particles in hollows: where they come to rest, what never does."""

import pytest

from cosim import Simulation
from cosim.analysis.attrition import ENERGY, attrition
from cosim.analysis.statics import StaticsError
from tests.helpers.made import alone


def let_go(force, x, first=1 / 64, longest=100.0, **options):
    """A particle of mass 1 in a hollow; the state at the end, and the statistics."""

    def equations(b):
        q, v = b.continuous("q", x), b.continuous("v", 0.0, static="zero")
        b.derivative(q, v)
        b.derivative(v, force(q))

    sim = Simulation(alone(equations), engine="reference", rtol=1e-8)
    return attrition(sim, lambda state: 0.5 * state[1] ** 2, first, longest, **options)


@pytest.mark.parametrize(("least", "swings"), [(1e-2, 2), (ENERGY, 3), (None, 3)])
def test_a_spring_is_at_rest_where_a_peak_is_worth_little(least, swings):
    """A look every 1/8 of a swing: the first peak is up to 0.2 rad off, and 0.2^2 of its energy is left."""
    options = {} if least is None else {"least": least}
    at, found = let_go(lambda q: -q, 1.0, **options)
    assert found.swings == swings and found.energy <= options.get("least", ENERGY)
    assert abs(at.x[0]) < 0.2 and at.x[1] == 0.0
    earlier = let_go(lambda q: -q, 1.0, least=2.0)[1]
    assert earlier.swings == 2 and 1e-2 > earlier.energy > ENERGY


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_kick_takes_it_off_a_hilltop_and_out_of_no_hollow(side):
    """V = (q^2 - 1)^2 / 100: the hilltop at 0 is 0.01 above the hollows at -1 and 1."""
    force = lambda q: -(q * q - 1.0) * q / 25.0
    stayed, _ = let_go(force, side)
    assert stayed.x[0] == pytest.approx(side, abs=0.1)
    left, found = let_go(force, 0.0, longest=400.0)
    assert abs(left.x[0]) == pytest.approx(1.0, abs=0.1) and found.energy <= ENERGY


def test_what_falls_for_ever_is_named():
    with pytest.raises(StaticsError, match="grows without a peak") as caught:
        let_go(lambda q: 1.0 + 0.0 * q, 0.0, longest=2.0)
    assert caught.value.value == pytest.approx(2.0, rel=0.3)  # (1 m/s^2 * 2 s)^2 / 2
    with pytest.raises(StaticsError, match="did not come to rest in 1 swings"):
        let_go(lambda q: -q, 1.0, swings=1)


def test_a_system_without_rates_is_at_rest():
    sim = Simulation(alone(lambda b: b.derivative(b.continuous("x", 2.0), [0.0])), engine="reference")
    at, found = attrition(sim, lambda state: 1.0, 0.1, 1.0)
    assert (found.swings, found.energy, at.x.tolist()) == (0, 0.0, [2.0])


def test_a_kick_is_a_thousandth():
    """(1e-3)^2 / 2 in all: the first peak of a spring that is let go where it rests is no more than that."""
    with pytest.raises(StaticsError) as caught:
        let_go(lambda q: -q, 0.0, swings=1)
    assert 2.5e-7 < caught.value.value <= 5.001e-7
