"""Functions of NumPy and Python on ports: arithmetic where blocks do it, else our own error with the cure."""

import math

import numpy as np
import pytest

from blocks import Constant, Function, Gain, WiringError
from blocks.errors import PlantloopError
from cosim import Diagram, simulate, simulate_many


def ports():
    d = Diagram("d")
    return d, d.add("a", Constant([0.5, -2.0]))["y"], d.add("b", Constant([3.0, 4.0]))["y"]


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (lambda a, b: np.add(a, b), [3.5, 2.0]),
        (lambda a, b: np.subtract(1.0, a), [0.5, 3.0]),
        (lambda a, b: np.subtract(b, 1.0), [2.0, 3.0]),
        (lambda a, b: np.divide(a, b), [0.5 / 3, -0.5]),
        (lambda a, b: np.divide(12.0, b), [4.0, 3.0]),
        (lambda a, b: np.array([2.0, 5.0]) * a, [1.0, -10.0]),
        (lambda a, b: np.float64(2.0) * a, [1.0, -4.0]),
        (lambda a, b: np.array([[1.0, 2.0], [0.0, 1.0]]) @ a, [-3.5, -2.0]),
        (lambda a, b: np.abs(a), [0.5, 2.0]),
        (lambda a, b: np.negative(a), [-0.5, 2.0]),
        (lambda a, b: np.power(a, 2), [0.25, 4.0]),
        (lambda a, b: np.less(a, 0.0), [0.0, 1.0]),
        (lambda a, b: np.greater(1.0, a), [1.0, 1.0]),
        (lambda a, b: np.float64(-2.0) >= a, [0.0, 1.0]),
    ],
)
def test_functions_that_are_operators_make_the_block_of_the_operator(made, answer):
    d, a, b = ports()
    d.outport("y", made(a, b))
    assert np.allclose(simulate(d, 0.0, engine="reference")["y"][-1], answer, atol=1e-15)


@pytest.mark.parametrize(
    ("made", "name", "cure"),
    [
        (lambda a: np.sin(a), "np.sin", "np.sin(u)"),
        (lambda a: np.arctan2(a, 1.0), "np.arctan2", "np.arctan2(u, ...)"),
        (lambda a: np.add.reduce(a), "np.add", "np.add(u, ...)"),
        (lambda a: np.clip(a, 0, 1), "np.clip", "np.clip(u, ...)"),
        (lambda a: np.where(a > 0, 1, 0), "np.where", "np.where(u > 0, 1.0, 0.0)"),
        (lambda a: np.linalg.norm(a), "np.linalg.norm", "np.linalg.norm(u, ...)"),
        (lambda a: np.stack([a, a]), "np.stack", "np.stack(u, ...)"),
        (lambda a: math.sin(a), "float() or math.sin()", "np.sin(u)"),
        (lambda a: int(a), "int()", "np.trunc(u)"),
        (lambda a: round(a, 2), "round()", "np.round(u)"),
        (lambda a: a % 2, "'%'", "u % 2"),
        (lambda a: 7 // a, "'//'", "2 // u"),
        (lambda a: np.remainder(a, 2), "'%'", "u % 2"),
        (lambda a: 2**a, "'**'", "2.0**u"),
        (lambda a: a @ np.eye(2), "'@'", "u @ K"),
    ],
)
def test_others_are_refused_by_name_with_the_block_that_does_it(made, name, cure):
    _, a, _ = ports()
    with pytest.raises(WiringError) as found:
        made(a)
    assert isinstance(found.value, TypeError)
    assert name in str(found.value) and f"Function(lambda u: {cure})" in str(found.value)
    assert found.value.path.startswith("a")


def test_the_cure_works_and_a_block_is_meant_by_its_only_output():
    d, a, _ = ports()
    with pytest.raises(WiringError, match=r"np\.sin takes numbers, and a\.y is a port"):
        np.sin(d["a"])
    sine = d.add("sine", Function(lambda u: np.sin(u)))
    d.connect(a, sine["u"])
    assert np.allclose(simulate(d, 0.0, engine="reference")["sine.y"][-1], np.sin([0.5, -2.0]))


def test_ports_are_objects_that_compare_as_such():
    _, a, b = ports()
    assert a != b and a not in (b, 1.0) and np.float64(1.0) != a


def test_a_run_without_an_end_says_how_to_give_one():
    with pytest.raises(PlantloopError, match=r"until is missing.*simulate\(d, until=10\.0\)"):
        simulate(Gain(2.0))
    with pytest.raises(PlantloopError, match=r"until is missing.*simulate_many\(d, runs, until=10\.0\)"):
        simulate_many(Gain(2.0), 2)
