"""Units that are tried before a run that repeats steps: which are refused, and with which words."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

from blocks import PlantloopError
from cosim import FMU, Coupling, Diagram, simulate
from tests.helpers.fmus import build_fmu, needs_compiler
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


@dataclass(frozen=True, eq=False)
class Coarse(LinearUnit):
    """It makes steps of 0.02 s inside, as it says."""

    def driven(self):
        return replace(super().driven(), inner_step=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("step", "told"), [(0.02, True), (0.03, True), (0.04, False)])
def test_error_control_says_where_a_unit_does_not_see_half_a_step(step, told):
    d = Diagram("coarse")
    d.add("unit", Coarse(sample=step, inputs=("u",), outputs=("y",), **DECAY))
    d.ground("unit.u")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        simulate(d, 0.12, coupling=Coupling(rtol=1e-3), engine="reference")
        simulate(d, 0.12, coupling="jacobi", engine="reference")
    said = [str(w.message) for w in found if "fixedInternalStepSize" in str(w.message)]
    assert len(said) == told
    assert all("unit 'unit'" in text and "a sample of 0.04 s or more" in text for text in said)


@needs_compiler
def test_the_steps_inside_an_fmu_are_those_of_its_description():
    def change(text):
        return text.replace("<CoSimulation", '<CoSimulation fixedInternalStepSize="0.25"')

    assert FMU(build_fmu("lag", version="3.0", change=change), sample=0.5).driven().inner_step == 0.25
    assert FMU(build_fmu("lag"), sample=0.5).driven().inner_step == 0.0
