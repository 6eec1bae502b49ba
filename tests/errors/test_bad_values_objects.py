"""Values without sense given to methods of what a user gets back, and to the calls of `Equations`.

Each is refused with an error of ours that says what was given; none ends in an error of Python, NumPy or
Matplotlib, and none is taken as something else.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from blocks import (
    Block,
    BlockError,
    Gain,
    Integrator,
    ModelError,
    PlantloopError,
    State,
    StateChart,
    Transition,
)
from cosim import Diagram, Result, RunSettings, export_ssp, import_ssp
from plant import Plant
from plant.pictures import animate, curves, draw, motion_of
from tests.helpers.cosim_calls import PENDULUM, loop, quiet, running

NOT_A_FLAG = (None, 1, "yes", [], np.zeros((2, 3)))
NOT_A_TEXT = (None, 3, [None], np.zeros((2, 3)))
NOT_A_PATH = (3, True, [], b"x", np.zeros(0), "")
NOT_A_COUNT = (True, 2.5, -1, float("nan"), "two", [2])
NOT_POSITIVE = (None, True, 0, -1.0, float("nan"), float("inf"), "1", [1.0], 1j)
NOT_FUNCTIONS = (1, "f", [], np.zeros(2))
NOT_LABELS = ("ab", {"a": 1}, [1, 2], ["a"], ["a", "b", "c"], None)
NO_RESULT = (None, 3, "run", [], {}, object(), Gain, np.zeros(3))

RUN = SimpleNamespace(time=np.array([0.0, 1.0]), signals={})  # what pictures ask of the result of a run


def of_a_plant() -> list[tuple[Any, tuple[Any, ...]]]:
    plant = Plant.read(PENDULUM)
    return [
        *((lambda v, f=f: f(v, plant), NO_RESULT) for f in (curves, draw, motion_of)),
        *((lambda v, f=f: f(RUN, v), NO_RESULT) for f in (curves, draw, motion_of)),
        (lambda v: animate(v, plant, "a.gif"), NO_RESULT),
        (lambda v: animate(RUN, plant, v), (*NOT_A_PATH, None, "a.xyz")),
        (lambda v: animate(RUN, plant, "a.gif", fps=v), NOT_POSITIVE),
        (lambda v: animate(RUN, plant, "a.gif", slower=v), NOT_POSITIVE),
        (plant.pushed, NOT_A_FLAG),
        (lambda v: plant.view(show=False, live=v), NOT_A_FLAG),
    ]


def of_a_diagram() -> list[tuple[Any, tuple[Any, ...]]]:
    return [
        (lambda v: loop().system(v), NOT_A_FLAG),
        (lambda v: loop().system(driven=v), NOT_A_FLAG),
        (lambda v: loop().system(opened=[v]), ("x.y", "nonsense", "")),
        (lambda v: loop().view(show=False, live=v), NOT_A_FLAG),
        (lambda v: Diagram().computed(v, 1.0), (*NOT_FUNCTIONS, None)),
        (lambda v: running().result(complete=v), NOT_A_FLAG),
        (lambda v: running().result(message=v), NOT_A_TEXT),
        (lambda v: export_ssp(quiet(), "e.ssp", version=v), ("3.0", 1, [], np.zeros(2))),
        (lambda v: Gain(1.0).with_value(v, 2.0), NOT_A_TEXT),
    ]


def of_a_result() -> list[tuple[Any, tuple[Any, ...]]]:
    def made(**fields):
        return Result(**({"name": "r", "time": [0.0, 1.0], "signals": {"a": [1.0, 2.0]}} | fields))

    no_mapping = (float("nan"), 1, "x", b"x", [1], object(), loop(), np.array("x"), np.array([]))
    return [
        (lambda v: made(time=v), (*NOT_A_TEXT, "x", [0.0, "x"], {}, object(), 10**400, [1j])),
        (lambda v: made(signals=v), no_mapping),
        (lambda v: made(signals={"a": v}), (None, "x", {}, [1.0, "x"], object(), [[1.0], [1.0, 2.0]])),
        (lambda v: made(ticks_of=v), no_mapping),
        (lambda v: made(ticks_of={"a": v}), (None, 1.0, "ab", [1.0], ([0.0], "x"), ([0.0], [1.0], [2.0]))),
        (lambda v: made(tree=v), (None, {"a": 1.0}, *no_mapping)),
        (lambda v: made(events=v), (None, {"a": 1}, {1.0}, *no_mapping)),
        (lambda v: made(events=[v]), (None, 1.0, "abcd", ("x", "e", 0.0, 1.0), (0.0, "e"))),
        (lambda v: made(settings=v), no_mapping),
        (lambda v: made(settings={"a": v}), (None, 1.0, "ab", (1.0,), {"value": 1, "origin": "x"})),
        (lambda v: made(complete=v), NOT_A_FLAG),
        (lambda v: RunSettings(origins=v), no_mapping),
        (lambda v: import_ssp("none.ssp", folder=v), (3, True, [], b"x", "")),
    ]


def of_a_chart() -> list[tuple[Any, tuple[Any, ...]]]:
    def chart(**own):
        return StateChart.of(type("chart", (), {"outputs": {"p": 0.0}, "a": type("a", (), {}), **own}))

    whole = StateChart(
        outputs={"p": 0.0}, states=[State("a"), State("b")], transitions=[Transition("a", "b")]
    )
    return [
        (lambda v: chart(a=type("a", (), {"to": v})), (None, 3, "b", [3], {1, 2})),
        (lambda v: chart(transitions=v), (None, 3, "b", [3], {"a": "b"})),
        (lambda v: chart(states=v), ((), [State("b")], None)),
        (lambda v: State("a", initial=v), NOT_A_TEXT),
        (whole.draw, (3, [], "chart.xyz")),  # each draws the chart first
    ]


@dataclass(frozen=True, eq=False)
class Declaring(Block):
    """x' = u, and one more declaration."""

    more: Any

    def define(self, b):
        u = b.input("u", size=2)
        x = b.continuous("x", [0.0, 0.0])
        b.derivative(x, u)
        self.more(b, x)
        b.output("y", x)


def declared(more: Any) -> Any:
    def call(value):
        d = Diagram()
        d.add("b", Declaring(lambda b, x: more(b, x, value)))
        d.ground("b.u")
        return d.system()

    return call


def of_equations() -> list[tuple[Any, tuple[Any, ...]]]:
    def opaque(b, x, function=np.sin, size=2, **more):
        return b.opaque("f", function, x, size, **more)

    def state(b, size=2, **more):
        z = b.continuous("z", 0.0, size, **more)
        b.derivative(z, -z)

    table = [
        (lambda b, x, v: b.output(v, x), (*NOT_A_TEXT, "")),
        (lambda b, x, v: b.output("z", x, offset=v), (1, None, "a")),
        (lambda b, x, v: b.output("z", x, labels=v), NOT_LABELS),
        (lambda b, x, v: b.output("z", x, auxiliary=v), NOT_A_FLAG),
        (lambda b, x, v: state(b, size=v), NOT_A_COUNT),
        (lambda b, x, v: state(b, nominal=v), NOT_POSITIVE),
        (lambda b, x, v: state(b, labels=v), NOT_LABELS),
        (lambda b, x, v: state(b, part=v), NOT_A_TEXT),
        (lambda b, x, v: b.update(b.discrete("z", [0.0, 0.0], 0.1, labels=v), x), NOT_LABELS),
        (lambda b, x, v: b.random(0.1, size=v), NOT_A_COUNT),
        (lambda b, x, v: b.input("v", size=v), NOT_A_COUNT),
        (lambda b, x, v: b.input("v", size=2, labels=v), NOT_LABELS),
        (lambda b, x, v: b.parameter("k", 1.0, aliases=v), ("ab", [1], None, {})),
        (lambda b, x, v: b.parameter("k", 1.0, full=v), NOT_A_FLAG),
        (lambda b, x, v: b.delayed(x, 0.1, shortest=v), (-1, float("nan"), "a", None, [1.0])),
        (lambda b, x, v: b.delayed(x, 0.1, longest=v), (-1, float("nan"), "a", None, [1.0])),
        (lambda b, x, v: b.slope(x, exact=v), NOT_A_FLAG),
        (lambda b, x, v: b.invariant(x[0] - x[1], tolerance=v), NOT_POSITIVE),
        (lambda b, x, v: b.rounding_matters(v), (-1, float("nan"), "a", None, [1.0])),
        (lambda b, x, v: opaque(b, x, function=v), (*NOT_FUNCTIONS, None)),
        (lambda b, x, v: opaque(b, x, jacobian=v), NOT_FUNCTIONS),
        (lambda b, x, v: opaque(b, x, make=v), NOT_FUNCTIONS),
        (lambda b, x, v: opaque(b, x, size=v), NOT_A_COUNT),
        (lambda b, x, v: b.stop(x[0] - 1.0, v), (*NOT_A_TEXT, "")),
        (lambda b, x, v: b.when(x[0] - 1.0, {}, name=v), (3, [1], object())),
        (lambda b, x, v: b.when(x[0] - 1.0, {}, warning=v), NOT_A_TEXT),
        (lambda b, x, v: b.when(x[0] - 1.0, {}, anew=v), ("ab", [1], None, {})),
        (lambda b, x, v: b.when(x[0] - 1.0, {}, by_value=v), NOT_A_FLAG),
    ]
    return [(declared(more), values) for more, values in table]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("calls", [of_a_plant, of_a_diagram, of_a_result, of_a_chart, of_equations])
def test_values_without_sense_are_refused_by_errors_of_ours(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = []
    for k, (call, values) in enumerate(calls()):
        for value in values:
            try:
                call(value)
            except PlantloopError as error:
                if len(str(error)) < 20:
                    wrong.append(f"call {k} of {value!r} says too little: {error}")
            except Exception as error:
                wrong.append(f"call {k} of {value!r}: {type(error).__name__}: {error}")
            else:
                wrong.append(f"call {k} of {value!r}: accepted")
    assert not wrong, "\n".join(wrong)
    assert not list(tmp_path.iterdir())


def test_what_belongs_to_others_is_still_taken():
    """An infinite length of a delay, no labels, a size of NumPy, a size of zero."""

    def more(b, x, _):
        b.delayed(x, 0.1, longest=float("inf"))
        z = b.continuous("z", 0.0, size=np.int64(3), labels=())
        b.derivative(z, -z)
        b.output("labelled", z, labels=["a", "b", "c"])
        none = b.continuous("none", [], size=0)
        b.derivative(none, none)

    assert declared(more)(None).signals["b.labelled"].labels == ("a", "b", "c")


def test_a_picture_of_an_unknown_kind_names_the_kinds_there_are(tmp_path):
    chart = StateChart(outputs={"p": 0.0}, states=[State("a")])
    with pytest.raises(PlantloopError, match=r"suffix '\.xyz' is unknown.*\.png"):
        chart.draw(tmp_path / "chart.xyz")
    chart.draw(tmp_path / "new" / "chart.png")  # the folder is made
    assert (tmp_path / "new" / "chart.png").stat().st_size > 1000


def test_an_animation_of_too_many_frames_is_refused(monkeypatch):
    """A billion frames a second would fill the memory first."""
    monkeypatch.setattr("plant.pictures.motion_of", lambda *_: None)
    with pytest.raises(ModelError, match=r"1e\+09 frames.*smaller fps"):
        animate(RUN, None, "a.gif", fps=1e9)


def test_a_ragged_table_is_a_structural_parameter():
    d = Diagram()
    d.add("x", Integrator())
    d.parameter("rows", [[1.0], [1.0, 2.0]])
    with pytest.raises(BlockError, match="finite numbers"):
        d.computed(lambda rows: rows, [[1.0], [1.0, 2.0]])
