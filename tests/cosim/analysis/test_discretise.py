"""Exact discrete models: what is a hold's history and what is a state is declared, never read from a name."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.signal

from blocks import Block, BlockError, Function, Hold, StateSpace
from blocks.contract.rate import Ticks
from blocks.contract.trace import trace
from cosim import linearize
from tests.helpers.runs import Simulation, build

TICKS = Ticks.of("1/10")
A, B, C = np.array([[0.0, 1.0], [-4.0, -0.4]]), np.array([[0.0], [4.0]]), np.array([[1.0, 0.0]])


@dataclass(frozen=True)
class Squares(Block):
    """x[k+1] = 0.2 x[k]^2 + u, whose state is called as the older samples of a hold are."""

    name: str

    def define(self, b):
        u = b.input("u", size=1)
        x = b.discrete(self.name, 1.0, TICKS)
        b.update(x, 0.2 * x**2 + u)
        b.output("y", x)


@pytest.mark.parametrize("name", ["x", "x_prev1", "hold_prev1", "y@sampled"])
def test_a_state_is_a_state_whatever_its_name(name):
    ss = linearize(Squares(name))
    assert (ss.A, ss.B, ss.C, ss.D) == (0.4, 1.0, 1.0, 0.0)  # d/dx of 0.2 x^2 at x = 1


@dataclass(frozen=True)
class OwnHold(Block):
    """First-order extrapolation, written by a user with names of his own."""

    declared: bool = True

    def define(self, b):
        u = b.input("u", size=1)
        latest = b.sampled(u, TICKS, name="latest")
        before = b.discrete("before", 0.0, TICKS)
        b.update(before, u)
        if self.declared:
            b.sample_history(latest, [before])
        s = (b.time - b.tick_time(TICKS)) / float(TICKS.period)
        b.output("y", latest + np.where(b.sample_count(TICKS) > 1, s * (latest - before), 0.0))


def held_plant(hold):
    """A plant, nonlinear in what its hold gives it, where a constant has gone through the hold for long."""
    d = build("h.y>f.u f.y>p.u", h=hold, f=Function(lambda u: u**2), p=StateSpace(A, B, C))
    d.connect(d.inport("u"), "h.u")
    d.outport("y", "p.y")
    return linearize(d, at={"u": 3.0})


@pytest.mark.parametrize("hold", [Hold(1, sample="1/10"), OwnHold()], ids=["ours", "own"])
def test_older_samples_are_what_the_hold_has_sampled_for_long(hold):
    ss = held_plant(hold)
    # 2u times the ramp-invariant model: with v the older sample, u(s) = u + s (u - v)/T
    whole = scipy.signal.cont2discrete((A, B, C, [[0.0]]), 0.1)
    step = np.linalg.solve(A, whole[1] - 0.1 * B)  # response to s, at the end of a period
    np.testing.assert_allclose(ss.A[:2, :2], whole[0], rtol=1e-12)
    np.testing.assert_allclose(ss.A[:2, 2], -6.0 * step[:, 0] / 0.1, rtol=1e-9)
    np.testing.assert_allclose(ss.B[:2], 6.0 * (whole[1] + step / 0.1), rtol=1e-9)


def test_without_the_declaration_an_older_sample_is_any_other_state():
    with_it, without = held_plant(OwnHold()), held_plant(OwnHold(declared=False))
    assert not np.allclose(with_it.B, without.B)  # there the older sample stays 0, so u(s) is not 3


@dataclass(frozen=True)
class Muddled(Block):
    case: str

    def define(self, b):
        u = b.input("u", size=1)
        newest = b.sampled(u, TICKS, name="newest")
        wide = b.discrete("wide", [0.0, 0.0], TICKS)
        slow = b.discrete("slow", 0.0, "1/5")
        b.update(wide, wide)
        b.update(slow, u)
        b.sample_history(*{"wide": (newest, [wide]), "slow": (newest, [slow]), "no": (slow, [])}[self.case])
        b.output("y", newest)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("wide", "'wide' in the history of 'newest' is a discrete state with 2 components"),
        ("slow", "'slow' in the history of 'newest'"),
        ("no", "'slow' in the history of 'slow' is a discrete state"),
    ],
)
def test_a_history_that_is_none_says_so(case, text):
    with pytest.raises(BlockError, match=text):
        trace(Muddled(case), {"u": 1})


def test_messages_name_a_sampled_output_as_its_signal_is_called():
    d = build("", f=Function(lambda u: 1.0 / u, sample=0.1))
    d.ground("f.u")
    with pytest.raises(Exception, match=r"signal 'f\.y' = inf in block 'f'"):
        Simulation(d).advance(0.0)
