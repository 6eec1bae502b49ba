"""Units that are tried before a run that repeats steps: which are refused, and with which words."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from blocks import PlantloopError
from cosim import Coupling, Diagram, simulate
from tests.helpers.units import LinearUnit

DECAY = {"A": np.array([[-1.0]]), "B": np.array([[1.0]]), "C": np.eye(1), "z0": np.ones(1)}
ITERATED = {"coupling": Coupling(iterate=True), "engine": "reference"}


@dataclass(frozen=True, eq=False)
class Odd(LinearUnit):
    """One instance of it may exist at a time, or its steps fail: all, or those after going back."""

    once: bool = False
    fails: str = ""

    def driven(self):
        block, made = super().driven(), []

        def make():
            if self.once and made:
                raise PlantloopError("one instance only")
            unit = block.make()
            made.append(unit)
            whole, back = unit.step, unit.restore

            def step(*given):
                if self.fails == "always" or (self.fails == "back" and unit.went_back):
                    raise PlantloopError("it stands elsewhere")
                return whole(*given)

            def restore(kept):
                unit.went_back = True
                back(kept)

            unit.went_back, unit.step, unit.restore = False, step, restore
            return unit

        return replace(block, make=make)


def ring(unit):
    d = Diagram("ring")
    d.add("odd", unit)
    d.connect("odd.y", "odd.u")
    return d


def test_one_instance_is_enough():
    """y' = u - y with u = y rests."""
    r = simulate(ring(Odd(**DECAY, once=True)), 0.05, **ITERATED)
    assert r["odd.y"].ravel() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("coupling", [Coupling(rtol=1e-3), Coupling(extrapolation=2)])
def test_it_is_tried_nowhere_else(coupling):
    simulate(ring(Odd(**DECAY, once=True)), 0.05, coupling=coupling, engine="reference")


def test_a_unit_that_fails_is_no_liar():
    """The run says what failed."""
    with pytest.raises(PlantloopError, match="it stands elsewhere") as caught:
        simulate(ring(Odd(**DECAY, fails="always")), 0.05, **ITERATED)
    assert "rolled back" not in str(caught.value)


def test_a_unit_that_fails_after_going_back_is_one():
    with pytest.raises(PlantloopError, match=r"'odd' .* rolled back, but .* same step fails: it stands else"):
        simulate(ring(Odd(**DECAY, fails="back")), 0.05, **ITERATED)
    with pytest.raises(PlantloopError, match=r"'odd' .* rolled back, but .* gives other outputs"):
        simulate(ring(Odd(**DECAY, lying=True)), 0.05, **ITERATED)
