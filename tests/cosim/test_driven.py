"""Inputs over time: tables, functions, pandas; against closed forms."""

import warnings

import numpy as np
import pandas as pd
import pytest

from blocks import Gain, Integrator, StateSpace
from blocks.errors import PlantloopError
from cosim import Diagram, simulate

EXACT = {"rtol": 1e-10, "atol": 1e-12, "log_every": 0.05}


def lag(size=1):
    d = Diagram("lag")
    x = d.add("x", StateSpace(-np.eye(size), np.eye(size), np.eye(size)))
    d.connect(d.inport("u", size), x["u"])
    d.outport("y", x["y"])
    return d


def ramp_answer(t):
    """x' = -x + min(t, 1), x(0) = 0."""
    before = t - 1 + np.exp(-t)
    after = 1 + (np.exp(-1.0) - 1) * np.exp(-(t - 1))
    return np.where(t < 1, before, after)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize(
    "course",
    [
        ([0.0, 1.0], [0.0, 1.0]),
        (np.array([0.0, 1.0, 5.0]), np.array([[0.0], [1.0], [1.0]])),
        pd.Series([0.0, 1.0], index=[0.0, 1.0]),
    ],
)
def test_tables_are_straight_lines_and_held_at_the_end(course, engine):
    d = lag()
    r = simulate(d, 3.0, inputs={"u": course}, engine=engine, **EXACT)
    assert np.allclose(r["y"][:, 0], ramp_answer(r.time), atol=1e-8)
    assert np.allclose(r["u"][:, 0], np.minimum(r.time, 1.0))
    assert list(d.inports) == ["u"]  # the diagram stays as it was
    assert simulate(d, 1.0)["y"][-1, 0] == 0.0


def test_a_function_of_time():
    r = simulate(lag(), 3.0, inputs={"u": lambda t: np.sin(2 * t)}, **EXACT)
    t = r.time
    assert np.allclose(r["y"][:, 0], (np.sin(2 * t) - 2 * np.cos(2 * t) + 2 * np.exp(-t)) / 5, atol=1e-8)


def test_a_table_of_pandas_names_its_inputs():
    d = Diagram("two")
    for name in ("a", "b"):
        d.connect(d.inport(name), d.add(f"int_{name}", Integrator(0.0))["u"])
    frame = pd.DataFrame({"a": [1.0, 1.0], "b": [0.0, 2.0]}, index=[0.0, 2.0])
    r = simulate(d, 2.0, inputs=frame, **EXACT)
    assert np.allclose(r["int_a.y"][:, 0], r.time)
    assert np.allclose(r["int_b.y"][:, 0], r.time**2 / 2)
    with (
        pytest.warns(UserWarning),
        pytest.raises(PlantloopError, match=r"no input 't'.*the time, make it the index: frame\.set_index"),
    ):
        simulate(d, 2.0, inputs=frame.rename_axis("t").reset_index())


def test_a_block_alone_and_a_constant_beside_a_course():
    r = simulate(Gain(3.0), 1.0, inputs={"u": ([0.0, 1.0], [0.0, 2.0])})
    assert np.allclose(r["y"][:, 0], 6 * r.time)
    r = simulate(lag(2), 1.0, inputs={"u": ([0.0, 1.0], [[1.0, 0.0], [1.0, 0.0]])}, **EXACT)
    assert np.allclose(r["y"][:, 0], 1 - np.exp(-r.time), atol=1e-8)
    assert np.all(r["y"][:, 1] == 0)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"v": ([0, 1], [0, 1])}, "no input 'v'; there is 'u'"),
        ({"u": ([0, 1], [0, 1, 2])}, r"2 times and values of shape \(3,\)"),
        ({"u": ([0, 1], [[0, 1], [1, 2]])}, r"expected \(2, 1\)"),
        ({"u": ([1, 0], [0, 1])}, "times"),
        ({"u": (["a"], ["b"])}, "expected a number, "),
        ({"u": [[1.0], [1.0, 2.0]]}, "expected a number, "),
    ],
)
def test_what_fits_no_input_says_so(inputs, message):
    with pytest.raises(PlantloopError, match=message):
        simulate(lag(), 1.0, inputs=inputs)


@pytest.mark.parametrize(
    ("size", "value"), [(1, np.array([[0.0, 1.0], [1.0, 2.0]])), (1, [0.0, 1.0]), (3, [1.0, 2.0])]
)
def test_a_table_that_is_no_pair_says_how_a_course_is_written(size, value):
    said = f"input 'u' got {np.size(value)} numbers, expected {size}. Over time it is"
    with pytest.raises(PlantloopError, match=said):
        simulate(lag(size), 1.0, inputs={"u": value})
    assert simulate(lag(3), 1.0, inputs={"u": [1.0, 2.0, 3.0]})["y"].shape == (1001, 3)


def test_a_flat_system_takes_constants_only():
    with pytest.raises(PlantloopError, match="need the diagram"):
        simulate(lag().system(), 1.0, inputs={"u": ([0, 1], [0, 1])})


def test_rows_that_pandas_numbered_are_taken_for_seconds_with_a_warning():
    frame = pd.DataFrame({"u": [0.0, 1.0, 2.0]})
    with pytest.warns(
        UserWarning, match=r"the table of inputs is indexed by .* 0, 1, .* frame\.set_index\('t'\)"
    ):
        r = simulate(Gain(2.0), 2.0, inputs=frame)
    assert np.allclose(r["y"][:, 0], 2 * r.time)
    with pytest.warns(UserWarning, match="input 'u' is indexed by the numbers of its rows"):
        simulate(Gain(2.0), 2.0, inputs={"u": frame["u"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        simulate(Gain(2.0), 2.0, inputs=frame.set_axis(frame.index.astype(float)))


@pytest.mark.parametrize("index", [pd.to_timedelta([5, 7], unit="s"), pd.to_datetime([5, 7], unit="s")])
def test_times_of_pandas_that_are_no_seconds_say_how_they_become_some(index):
    frame = pd.DataFrame({"u": [0.0, 1.0]}, index=index)
    with pytest.raises(PlantloopError, match=r"Times are seconds: frame\.set_axis"):
        simulate(Gain(2.0), 2.0, inputs=frame)
    mended = frame.set_axis((frame.index - frame.index[0]).total_seconds())
    assert np.allclose(simulate(Gain(2.0), 2.0, inputs=mended)["y"][-1], 2.0)
