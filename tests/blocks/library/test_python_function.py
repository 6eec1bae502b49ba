"""Function is traced, PythonFunction is called."""

import warnings

import numpy as np
import pytest

from blocks import BlockError, Constant, Function, PythonFunction, WiringError
from blocks.contract.trace import trace
from cosim import Diagram
from tests.helpers.runs import build
from tests.helpers.solo import Solo


def test_function_ports_are_its_parameters_except_defaults():
    solo = Solo(Function(lambda a, b, gain=2.0: gain * a + b), {"a": 2, "b": 1})
    assert [i.name for i in solo.declared.inputs] == ["a", "b"]
    np.testing.assert_array_equal(solo.outputs([np.array([1.0, 2]), np.array([10.0])])["y"], [12, 14])


def test_function_of_a_numpy_function():
    y = Solo(Function(np.arctan2), {"in1": 1, "in2": 1}).outputs([np.array([1.0]), np.array([-1.0])])["y"]
    np.testing.assert_array_equal(y, np.arctan2([1.0], [-1.0]))


def test_function_may_return_a_list():
    y = Solo(Function(lambda u: [u[0], 2.0, u[1] * u[0]]), {"u": 2}).outputs([np.array([3.0, 4.0])])["y"]
    np.testing.assert_array_equal(y, [3, 2, 12])


def test_function_at_ticks():
    y = Solo(Function(np.sin, sample=0.2, offset=0.1), {"u": 1}).run([0, 0.1, 0.29, 0.3], u=lambda t: t)["y"]
    np.testing.assert_array_equal(y[:, 0], [0, np.sin(0.1), np.sin(0.1), np.sin(0.3)])


def test_function_that_branches_on_a_signal_is_told_the_line_and_the_cure():
    with pytest.raises(BlockError, match=r"(?s)test_python_function.*np\.where"):
        trace(Function(lambda u: u if u[0] > 0 else -u), {"u": 1})


def test_python_function_is_called_at_its_ticks_with_all_inputs_in_order():
    calls = []

    def record(t, u):
        calls.append((t, u.tolist()))
        return [u.sum(), t]

    block = PythonFunction(record, {"a": 2, "b": 1}, 2, sample=0.2, offset=0.1, initial=[8, 9])
    y = Solo(block).run([0, 0.1, 0.2, 0.3], a=lambda t: [t, 1], b=lambda t: 5)["y"]
    assert calls == [(0.1, [0.1, 1, 5]), (0.3, [0.3, 1, 5])]
    np.testing.assert_array_equal(y, [[8, 9], [6.1, 0.1], [6.1, 0.1], [6.3, 0.3]])


def test_python_function_feeds_through_at_ticks_only():
    solo = Solo(PythonFunction(lambda t, u: u, inputs=2, size=2, sample=1))
    assert solo.feedthrough(ticking=True)["y"].all()
    assert not solo.feedthrough(ticking=False)["y"].any()


class Counter:
    """Counts its calls; what it keeps can be saved."""

    def __init__(self):
        self.n = 0

    def __call__(self, t, u):
        self.n += 1
        return self.n

    def save(self):
        return str(self.n).encode()

    def load(self, state):
        self.n = int(state)


def test_every_run_has_a_function_of_its_own():
    counter = Counter()
    block = PythonFunction(counter, 0, sample=1, memory=counter)
    for _ in range(2):
        np.testing.assert_array_equal(Solo(block).run([0, 1, 2])["y"][:, 0], [1, 2, 3])
    assert counter.n == 0


@pytest.mark.parametrize("function", [lambda u: u, lambda: 0.0, lambda t, u, v: u, lambda t, *, u: u])
def test_a_function_that_does_not_take_time_and_inputs(function):
    with pytest.raises(
        BlockError, match=r"PythonFunction: function takes \(.*expected a function of \(t, u\)"
    ):
        PythonFunction(function, sample=0.1)
    with pytest.raises(BlockError, match="jacobian takes"):
        PythonFunction(lambda t, u: u, sample=None, jacobian=function)


@pytest.mark.parametrize("function", [lambda t, u: u, lambda *a: a[1], lambda t, u, v=2.0: v * u, np.maximum])
def test_functions_that_do(function):
    PythonFunction(function, sample=0.1)


class Beyond(Exception):
    """A user's own."""


def unknown_name(v):
    return undefined_factor * v  # noqa: F821  # the mistake


def own_error(v):
    raise Beyond("no such gear")


def import_error(v):
    import nowhere_to_be_found

    return v * nowhere_to_be_found.G


def assertion(v):
    assert v is None
    return v


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("function", "says", "line"),
    [
        (unknown_name, "name 'undefined_factor' is not defined", "return undefined_factor * v"),
        (own_error, "Beyond: no such gear", 'raise Beyond("no such gear")'),
        (import_error, "No module named 'nowhere_to_be_found'", "import nowhere_to_be_found"),
        (assertion, "AssertionError", "assert v is None"),
    ],
)
def test_whatever_a_function_raises_names_the_block_and_the_line(function, says, line, nested):
    """A NameError came as it is, without the block."""
    d = Diagram("loop")
    d.add("c", Constant([1.0, 2.0, 3.0]))
    d.add("drag", Function(function))
    d.connect("c.y -> drag.v")
    outer = Diagram("outer")
    outer.add("car", d)
    with pytest.raises(WiringError) as caught:
        (outer if nested else d).system()
    text = str(caught.value)
    assert text.startswith(f"block '{'car/' * nested}drag': the equations of Function cannot be traced: ")
    assert says in text
    assert "test_python_function.py:" in text
    assert line in text


def test_a_name_that_is_not_defined_has_its_own_cure_and_is_said_when_wires_ask_for_ports():
    d = Diagram("loop")
    with pytest.raises(WiringError, match=r"drag.*'undefined_factor' is not defined.*Define or import it"):
        d.add("c", Constant(1.0)) >> d.add("drag", Function(unknown_name))


def test_a_warning_that_was_made_an_error_stays_one():
    def old(v):
        warnings.warn("an old way", DeprecationWarning, stacklevel=2)
        return v

    d = build("c.y>f.v", c=Constant(1.0), f=Function(old))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning, match="an old way"):
            d.system()
