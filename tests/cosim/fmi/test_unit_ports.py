"""Inputs and outputs of an FMU that steps itself: which are set when, and where outputs come from."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cosim.fmi.description import ClockTiming, Variable
from cosim.fmi.finite import check_next_event, finite
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.unit_ports import UnitInputs, UnitOutputs


def variable(name: str, size: int = 1, **more: Any) -> Variable:
    given = {"causality": "input", "variability": "continuous"} | more
    return Variable(name, 1, "Float64", shape=() if size == 1 else (size,), **given)


HELD, FREE, CLOCKED = variable("h", 2), variable("f", 2, variability="discrete"), variable("c", clocks=("t",))
LAST = variable("l")
PRESS, COUNT = (
    Variable(name, 9, "Clock", "input", "discrete", clock=ClockTiming("triggered"))
    for name in ("press", "count")
)
INPUTS, PORTS = (FREE, HELD, CLOCKED, LAST), (FREE, HELD, CLOCKED, LAST, PRESS, COUNT)


class Instance:
    """Notes what is set."""

    def __init__(self) -> None:
        self.set: list[tuple[str, list[float]]] = []

    def setter(self, variables):
        names = "".join(v.name for v in variables)
        return SimpleNamespace(write=lambda values: self.set.append((names, list(values))))

    def getter(self, variables):
        return SimpleNamespace(read=lambda: np.arange(10.0, 10.0 + sum(v.size for v in variables)))

    def taken(self) -> list[tuple[str, list[float]]]:
        found, self.set = self.set, []
        return found


class Steps:
    """Clocked values wait until `tick`."""

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.values = {"k": np.array([7.0, 8.0])}
        self.counts = {"every": 3}

    def give(self, v, put):
        self.given.append((v.name, put))

    def tick(self) -> None:
        for _, put in self.given:
            put()
        self.given.clear()


def inputs() -> tuple[UnitInputs, Instance]:
    unit = Instance()
    setup: Any = SimpleNamespace(
        derived=SimpleNamespace(get=lambda name, make: make()), ports=PORTS, triggers=(PRESS, COUNT),
        description=SimpleNamespace(inputs=INPUTS), held=lambda v: v in (HELD, LAST),
        visited=(FREE, CLOCKED, PRESS, COUNT), untouched=frozenset(),
    )  # fmt: skip
    return UnitInputs(setup, unit), unit  # type: ignore[arg-type]


U = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0])  # f, h, c, l, press, count


def test_each_input_is_set_when_its_kind_may_be():
    it, unit = inputs()
    steps: Any = Steps()
    assert it.size == 8 and it.visits
    it.start(U)
    assert unit.taken() == [("fhcl", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]
    it.hold(U + 10.0)
    assert unit.taken() == [("hl", [13.0, 14.0, 16.0])]
    assert it.changed(U, steps) is None  # what may be set at events is as it was
    moved = U.copy()
    moved[[2, 3, 5]] += 1.0  # held ones alone
    assert it.changed(moved, steps) is None
    moved[1] = 9.0
    put = it.changed(moved, steps)
    assert put is not None and unit.taken() == []
    put()
    assert unit.taken() == [("f", [1.0, 9.0])]
    assert [name for name, _ in steps.given] == ["c", "c", "c"]
    steps.given[:-1] = []
    steps.tick()
    assert unit.taken() == [("c", [5.0])]
    assert it.visited(np.array([-1.0, -2.0, -3.0, 1.0, 2.0])).tolist() == [
        -1.0, -2.0, 4.0, 5.0, -3.0, 7.0, 1.0, 2.0,
    ]  # fmt: skip
    kept = it.kept()
    it.changed(U, steps)
    it.restored(kept)
    assert it.last.tolist() == moved.tolist() and it.changed(moved, steps) is None
    other, _ = inputs()
    assert other.changed(U, steps) is not None  # before anything was set


def test_clocks_tick_where_their_numbers_rise():
    """Rounded to whole numbers, half of one up."""
    it, _ = inputs()
    risen = lambda press, count: [v.name for v in it.risen(np.array([*U[:6], press, count]))]
    assert risen(0.0, 0.0) == risen(0.49, 0.0) == []
    assert risen(0.5, 1.0) == ["press", "count"]
    assert risen(1.0, 3.0) == ["count"] and risen(0.4, 3.0) == []
    kept = it.kept()
    assert risen(1.0, 2.0) == ["press"] and risen(1.0, 3.0) == ["count"]
    it.restored(kept)
    assert risen(1.0, 3.0) == ["press"]
    it, _ = inputs()  # they begin at 0
    assert it.risen(np.array([*U[:6], 0.5, 0.25])) == [PRESS]


@pytest.mark.parametrize("plain", [True, False])
def test_outputs_are_read_or_kept_or_counted(plain):
    y, z = (variable(name, size, causality="output") for name, size in (("y", 2), ("z", 1)))
    k = variable("k", 2, causality="output", clocks=("every",))
    every = Variable("every", 9, "Clock", "output", "discrete", clock=ClockTiming("constant", Fraction(1)))
    never = Variable("never", 9, "Clock", "output", "discrete", clock=ClockTiming("triggered"))
    steps: Any = Steps()
    chosen = [y, z] if plain else [every, y, k, z, never]
    if plain:
        steps.values = {}
    outputs = UnitOutputs(chosen, Instance(), steps)  # type: ignore[arg-type]
    assert outputs.direct == [y, z] and outputs.variables == chosen
    expected = [10.0, 11.0, 12.0] if plain else [3.0, 10.0, 11.0, 7.0, 8.0, 12.0, 0.0]
    assert outputs.read().tolist() == expected
    if not plain:
        found = np.full(7, -1.0)
        outputs.put_kept(found)
        assert found.tolist() == [3.0, -1.0, -1.0, 7.0, 8.0, -1.0, 0.0]


# --- numbers that are none ------------------------------------------------------------------------
def component(major: int = 3, said: str = "It said nothing.", t: float | None = 0.5) -> Any:
    return SimpleNamespace(
        description=SimpleNamespace(major=major, file="unit.fmu"), name="unit",
        call=SimpleNamespace(time=t), log=SimpleNamespace(shown=lambda: said),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("place", "named"), [(0, "'a'"), (1, "'m', element [1, 1]"), (4, "'m', element [2, 1]"), (7, "number 7")]
)
def test_a_number_that_is_none_is_named_by_its_variable(place, named):
    some = [variable("a"), Variable("m", 1, "Float64", "output", "continuous", shape=(2, 3))]
    found = np.zeros(8)
    assert finite(component(), some, found) is found
    found[place] = np.inf
    found[7] = np.nan if place < 7 else np.inf
    with pytest.raises(FMUCallError) as said:
        finite(component(), some, found, "GetEventIndicators")
    assert f"'unit': fmi3GetEventIndicators returned inf for {named} at t=0.5 s. It said" in str(said.value)
    assert (said.value.time, said.value.path) == (0.5, "unit")
    with pytest.raises(FMUCallError) as said:
        finite(component(2, t=None), some, found)
    getter = "Get" if place == 7 else "GetReal"
    assert f"fmi2{getter} returned inf for {named}. It said" in str(said.value)


def test_a_time_of_the_next_event_is_a_number():
    check_next_event(component(), None)
    check_next_event(component(), np.inf)
    with pytest.raises(
        FMUCallError, match=r"fmi3UpdateDiscreteStates announced its next event for t=nan at t=0"
    ):
        check_next_event(component(), np.nan)
    with pytest.raises(FMUCallError, match=r"fmi2NewDiscreteStates announced .* a\nb\n"):
        check_next_event(component(2, "a\nb"), np.nan)
