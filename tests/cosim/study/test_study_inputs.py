"""Inputs over time that all cases of a study share, beside the closed form of a lag behind a ramp."""

import math

import numpy as np
import pandas as pd
import pytest

from blocks import Gain, PlantloopError, TransferFunction
from cosim import Diagram, Study, simulate

TIME = np.array([0.0, 1.0, 2.0])


def lag():
    """y' + y = k u."""
    d = Diagram("lag")
    d.add("k", Gain(1.0))
    d.add("p", TransferFunction([1.0], [1.0, 1.0]))
    d.connect(d.inport("u"), "k.u")
    d.connect("k.y", "p.u")
    return d


def slope(t):
    return 1.0 * t


COURSES = {
    "table": {"u": (TIME, TIME)},
    "function": {"u": slope},
    "series": {"u": pd.Series(TIME, index=TIME)},
    "frame": pd.DataFrame({"u": TIME}, index=TIME),
}


@pytest.mark.parametrize("inputs", COURSES.values(), ids=COURSES)
def test_a_ramp(inputs, tmp_path):
    study = Study(lag(), until=2.0, inputs=inputs, sweep={"k.k": [1.0, 3.0]}, metrics={"y": "final(p.y)"})
    closed = 1 + math.exp(-2)  # t - 1 + exp(-t)
    assert study.run(tmp_path / "s").table["y"].tolist() == pytest.approx([closed, 3 * closed], abs=1e-7)
    alone = simulate(lag(), until=2.0, inputs=inputs, parameters={"k.k": 3.0})
    assert np.array_equal(study.case(1).result["p.y"], alone["p.y"])


@pytest.mark.slow
def test_beside_constants_in_processes_and_variants(tmp_path):
    two = lag()
    two.connect(two.inport("v"), two.add("g", Gain(2.0))["u"])
    study = Study(
        lag(), until=1.0, inputs={"u": (TIME, TIME), "v": 4.0}, variants={"a": two, "b": two},
        sweep={"g.k": [1.0, 2.0]}, metrics={"y": "final(p.y)", "v": "final(g.y)"},
    )  # fmt: skip
    table = study.run(tmp_path / "s", executor="processes", workers=2).table
    assert table["y"].tolist() == pytest.approx([math.exp(-1)] * 4, abs=1e-7)
    assert table["v"].tolist() == [4.0, 8.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"w": (TIME, TIME)}, "no input 'w'"),
        ({"u": (TIME, TIME[:2])}, "3 times and values of shape"),
        ({"u": np.ones(3)}, "Over time it is"),
        (3.0, "expected values by name"),
    ],
)
def test_mistakes(inputs, says):
    with pytest.raises(PlantloopError, match=says):
        Study(lag(), until=1.0, inputs=inputs)


def test_another_course_is_another_study(tmp_path):
    Study(lag(), until=1.0, inputs={"u": (TIME, TIME)}, sweep={"k.k": [1.0]}).run(tmp_path / "s")
    for other in ((TIME, 2 * TIME), (2 * TIME, TIME), lambda t: 2.0 * t):
        with pytest.raises(PlantloopError, match="holds results of another study: model changed"):
            Study(lag(), until=1.0, inputs={"u": other}, sweep={"k.k": [1.0]}).run(
                tmp_path / "s", resume=True
            )
