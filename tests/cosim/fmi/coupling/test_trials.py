"""Units that are tried before a run that repeats steps: which are refused, and with which words."""

import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

from blocks import PlantloopError
from blocks.contract.driven import UnitPort
from blocks.contract.rate import Ticks
from cosim import FMU, Coupling, Diagram, simulate
from cosim.fmi.coupling.trials import direct_feedthrough, why_no_way_back
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


def test_outputs_that_cannot_be_tried_may_follow_inputs_at_once():
    """x' = -x + u, y = x + u / 2 with u = -v, v' = y - v: one instance of the former is all there can be."""
    d, one = Diagram("once"), np.eye(1)
    d.add("a", Odd(**DECAY, D=one / 2, once=True))
    d.add("b", LinearUnit(-one, one, -one, one.ravel()))
    d.connect("a.y", "b.u")
    d.connect("b.y", "a.u")
    r = simulate(d, 0.5, coupling=Coupling(rtol=1e-4, extrapolation=2), engine="reference", log_at=[0.5])
    exact = expm(0.5 * np.array([[-1.0, -1.0], [1.0, -1.5]])) @ [1.0, 1.0]
    assert r["b.y"][-1, 0] == pytest.approx(-exact[1], abs=1e-4) and r.coupling.macro_steps < 100


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


class Tried:
    """A block of two continuous inputs and a whole number, whose instances note what they are given.

    fails : the call that fails; y = (u0, u1 + u2, 1)
    """

    def __init__(self, fails="", back=True):
        self.calls, self.fails, self.back = [], fails, back
        self.inputs = (UnitPort("u"), UnitPort("v", 1), UnitPort("n", continuous=False))
        self.start, self.n_inputs, self.n_outputs = np.array([0.0, -4.0, 2.0]), 3, 3
        self.ticks = Ticks.of("1/5", "1/10")

    def make(self):
        """`start` is a method of an instance, and a vector of the block."""
        self.note("make")
        made = SimpleNamespace(start=self.outputs)
        for name in ("begin", "exchange", "step", "outputs", "keep", "restore", "close"):
            setattr(made, name, getattr(self, name))
        return made

    def note(self, name, *given):
        self.calls.append((name, *(g.tolist() if isinstance(g, np.ndarray) else g for g in given)))
        if name == self.fails:
            raise PlantloopError("it fails")

    def begin(self, t, u, p):
        self.note("begin", t, u, p)
        self.x = 0.0

    def exchange(self, u):
        self.note("exchange", u)
        return np.array([u[0], u[1] + u[2], 1.0])

    def step(self, t, h, u, slope, curvature):
        assert not slope.any() and not curvature.any() and len(slope) == 3
        self.note("step", t, h, u)
        self.x += h

    def outputs(self):
        return np.array([self.x, np.nan])

    def keep(self):
        self.note("keep")
        return self.x

    def restore(self, kept):
        self.note("restore")
        self.x = kept if self.back else self.x

    def close(self):
        self.note("close")


RUN = SimpleNamespace(unit=SimpleNamespace(rolls_back=True), parameters=np.array([7.0]))


def test_outputs_that_follow_inputs_are_found_by_moving_these():
    """Each by another part of a thousandth, then each back alone; what is no real number stays."""
    block = Tried()
    found = direct_feedthrough(SimpleNamespace(block=block), RUN)
    assert found.tolist() == [[True, False, False], [False, True, False], [False] * 3]
    begin, moved, *one_back = block.calls[1:5]
    assert begin == ("begin", 0.1, [0.0, -4.0, 2.0], [7.0])
    assert moved[1] == pytest.approx([1e-3, -4.0 + 5e-3 * 1.37, 2.0], rel=1e-12)
    assert [call[1] for call in one_back] == [[0.0, *moved[1][1:]], [moved[1][0], -4.0, 2.0]]
    assert block.calls[-1] == ("close",)
    for fails in ("make", "exchange"):
        block = Tried(fails)
        assert direct_feedthrough(SimpleNamespace(block=block), RUN) is None
        assert (block.calls[-1] == ("close",)) == (fails == "exchange")


def test_a_product_of_inputs_that_are_zero_at_the_start_follows_both():
    block = Tried()
    block.start = np.zeros(3)
    block.exchange = lambda u: np.array([u[0] * u[1], u[0], 0.0])
    found = direct_feedthrough(SimpleNamespace(block=block), RUN)
    assert found.tolist() == [[True, True, False], [True, False, False], [False] * 3]


def test_the_same_step_is_made_twice_on_an_instance_of_its_own():
    """Which is closed, whatever it does; nan is the same as nan."""
    block = Tried()
    assert why_no_way_back(SimpleNamespace(block=block), RUN) == ""
    step = ("step", 0.1, 0.2, [0.0, -4.0, 2.0])
    assert block.calls == [
        ("make",), ("begin", 0.1, [0.0, -4.0, 2.0], [7.0]), ("keep",), step, ("restore",), step, ("restore",),
        ("close",),
    ]  # fmt: skip
    block = Tried(back=False)
    assert why_no_way_back(SimpleNamespace(block=block), RUN).endswith("the same step gives other outputs")
    assert block.calls[-1] == ("close",)
    for fails, said in (("make", ""), ("step", ""), ("restore", "after going back the same step fails: it")):
        block = Tried(fails)
        assert why_no_way_back(SimpleNamespace(block=block), RUN).startswith(said)
        assert (block.calls[-1] == ("close",)) == (fails != "make")
    never = SimpleNamespace(unit=SimpleNamespace(rolls_back=False), parameters=np.zeros(0))
    assert why_no_way_back(SimpleNamespace(block=None), never) == ""
