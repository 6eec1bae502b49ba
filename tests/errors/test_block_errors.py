"""Every complaint a block makes, raised on purpose: it names the block, the field and the cure."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import control
import numpy as np
import pytest

from blocks import (
    PID,
    Block,
    BlockError,
    Constant,
    Demux,
    DiscreteIntegrator,
    DiscretePID,
    DiscreteStateSpace,
    DiscreteTransferFunction,
    Function,
    Gain,
    Hold,
    Integrator,
    Mux,
    Product,
    Pulse,
    PythonFunction,
    Ramp,
    Saturation,
    Selector,
    Sine,
    StateFeedback,
    StateSpace,
    Step,
    Sum,
    TimeTable,
    TransferFunction,
    UnitDelay,
)
from blocks.contract.trace import trace

ONE = [[1.0]]

WRONG_FIELDS = [
    # numbers
    (lambda: Constant(float("nan")), "Constant: value is nan", "finite numbers"),
    (lambda: Constant("high"), "Constant: value is 'high'", "a number or a vector (n,)"),
    (lambda: Constant([[1, 2]]), "Constant: value has shape (1, 2)", "a number or a vector (n,)"),
    (lambda: Gain([]), "Gain: k has shape (0,)", "expected a number"),
    (lambda: Gain([[1, 2], [3]]), "Gain: k is [[1, 2], [3]]", "Give every row the same length"),
    (lambda: Gain(1 + 2j), "Gain: k is (1+2j)", "real numbers"),
    (lambda: Integrator([0, np.inf]), "Integrator: initial", "finite numbers"),
    (lambda: Sine([1, 2], [1, 2, 3]), "amplitude 2, frequency 3", "Numbers expand"),
    # choices and counts
    (lambda: Sum("+*"), "Sum: signs is '+*'", '"+" and "-"'),
    (lambda: Product(0), "Product: operations is 0", "or the number of inputs"),
    (lambda: Mux(0), "Mux: n is 0", "an integer of at least 1"),
    (lambda: Mux(2.0), "Mux: n is 2.0", "an integer"),
    (lambda: Demux([2, 0]), "Demux: sizes is [2, 0]", "integers of at least 1"),
    (lambda: Selector([0, -1]), "Selector: indices is [0, -1]", "integers of at least 0"),
    (lambda: Hold(-1, sample=1), "Hold: order is -1", "at least 0"),
    (lambda: DiscreteIntegrator(1, method="tustin"), "method is 'tustin'", '"trapezoidal"'),
    (
        lambda: DiscretePID(sample=1, anti_windup="clampin"),
        "anti_windup is 'clampin'",
        "Did you mean 'clamping'?",
    ),
    (lambda: TimeTable([0], [0], "cubic"), "interpolation is 'cubic'", '"previous" or "linear"'),
    # rates and instants
    (lambda: UnitDelay(-0.1), "UnitDelay: sample time is -0.1", "positive period"),
    (lambda: UnitDelay(0.1, -0.2), "UnitDelay: offset is -0.2", "zero or more"),
    (lambda: UnitDelay(None), "UnitDelay needs a sample time", "sample=0.01"),
    (lambda: UnitDelay("fast"), "UnitDelay: sample time 'fast'", '"1/60"'),
    (lambda: UnitDelay([0.1]), "UnitDelay: sample is [0.1]", "expected a number of seconds."),
    (lambda: UnitDelay((0.1, 0.2)), "UnitDelay: sample is (0.1, 0.2)", "Write sample=0.1, offset=0.2."),
    (lambda: UnitDelay(0.1, [0.2]), "UnitDelay: offset is [0.2]", "expected a number of seconds."),
    (lambda: UnitDelay(np.pi), "UnitDelay: sample time 3.14159", "Fraction(1, 60)"),
    (lambda: StateFeedback([1], offset=0.1), "offset is 0.1 without a sample time", "Give sample="),
    (lambda: Step(np.inf), "Step: time is inf", "finite"),
    (lambda: Ramp(start="noon"), "Ramp: start 'noon'", "0.01"),
    (lambda: Pulse(period=0), "Pulse: period is 0 s", "positive"),
    (lambda: Pulse(width=25), "Pulse: width is 25", "write 0.25 for 25 %"),
    (lambda: Pulse(delay=-1), "Pulse: delay is -1 s", "0 s or more"),
    (lambda: TimeTable([0, 2, 1], [0, 0, 0]), "goes from 2.0 s to 1.0 s at row 2", "Sort the rows"),
    (lambda: TimeTable([0, 0], [1, 2], "previous"), "goes from 0.0 s to 0.0 s", "increasing"),
    (lambda: TimeTable([0, 0, 0], [1, 2, 3]), "goes from 0.0 s to 0.0 s at row 2", "two equal times"),
    (lambda: TimeTable([0, 1], [1, 2, 3]), "TimeTable: values has shape (3,)", "one row per time, 2"),
    # limits
    (lambda: Saturation(1, -1), "Saturation: low is 1.0", "at most high = -1.0"),
    (lambda: Saturation([0, 0], [1, 2, 3]), "Saturation: low has 2 components", "3 as in high"),
    (lambda: Saturation(np.nan, 1), "Saturation: low is nan", "finite"),
    (lambda: PID(low=[0, 5], high=1), "PID: low is (0.0, 5.0)", "at most high = 1.0"),
    # controllers
    (lambda: PID(cutoff=0), "PID: cutoff is 0.0 rad/s", "more than 0"),
    (lambda: PID(tracking=-1), "PID: tracking is -1.0 s", "more than 0"),
    (lambda: PID(weights=(1, 2, 3)), "PID: weights", "two numbers (b, c)"),
    (
        lambda: DiscretePID(1, 1, sample=0.1, anti_windup="back-calculation", tracking=0.05),
        "DiscretePID: tracking is 0.05 s",
        "at least the sample time, 0.1 s",
    ),
    # matrices
    (lambda: StateSpace([[1, 2, 3], [4, 5, 6]], 1, 1), "A has shape (2, 3)", "a square matrix (n, n)"),
    (lambda: StateSpace(np.eye(2), np.ones((3, 1)), [1, 0]), "B has shape (3, 1)", "expected (2, any)"),
    (lambda: StateSpace(np.eye(2), [1, 0], [1, 0, 0]), "C has shape (1, 3)", "expected (any, 2)"),
    (lambda: StateSpace(np.eye(2), [1, 0], [1, 0], [1, 2]), "D has shape (1, 2)", "expected (1, 1)"),
    (lambda: StateSpace(np.eye(2), [1, 0], [1, 0], initial=[1, 2, 3]), "initial has 3", "2, one per state"),
    (lambda: DiscreteStateSpace([[np.nan]], 1, 1, sample=1), "DiscreteStateSpace: A is", "finite"),
    (
        lambda: TransferFunction([1, 2, 3], [1, 1]),
        "degree 2 over a denominator of degree 1",
        "filtered derivative",
    ),
    (lambda: TransferFunction([1], [0, 0]), "den is zero", "other than 0"),
    (lambda: TransferFunction([1], [1, 2], initial=[1, 2]), "initial has 2 components", "1, one per state"),
    (lambda: TransferFunction(1, 2, initial=1.0), "TransferFunction: initial has 1", "0, one per state"),
    (lambda: DiscreteTransferFunction([1, 0], [1], sample=1), "num has degree 1", "proper"),
    # functions
    (lambda: Function(3), "Function: function is 3", "a function"),
    (lambda: Function(lambda *u: u), "takes *args", "one named parameter per input"),
    (lambda: Function(lambda y: y), "has a parameter 'y'", "Rename"),
    (lambda: PythonFunction(None, sample=1), "PythonFunction: function is None", "a function"),
    (lambda: PythonFunction(len, sample=1, memory=3), "memory is a int", "save() -> bytes"),
    (lambda: PythonFunction(len, {"u": 0}, sample=1), "inputs is (0,)", "at least 1"),
    (lambda: PythonFunction(len, "u", sample=1), "inputs is 'u'", '{"u": 2}'),
    (lambda: PythonFunction(len, size=2, sample=1, initial=[1, 2, 3]), "initial has 3", "2 as in size"),
    # python-control
    (lambda: StateSpace.of(control.tf([1], [1, 1], 0.1)), "dt=0.1", "DiscreteStateSpace.of"),
    (lambda: DiscreteStateSpace.of(control.tf([1], [1, 1])), "dt=0", "StateSpace.of"),
    (lambda: DiscreteStateSpace.of(control.tf([1], [1, 1], True)), "has no sample time", "Give sample="),
    (lambda: StateSpace.of([1, 2]), "list is no linear python-control system", "control.StateSpace"),
    (
        lambda: TransferFunction.of(control.ss(-1, [[1, 1]], 1, [[0, 0]])),
        "2 inputs and 1 outputs",
        "StateSpace.of",
    ),
]


@pytest.mark.parametrize(("make", "what", "cure"), WRONG_FIELDS, ids=[w[1] for w in WRONG_FIELDS])
def test_a_wrong_field_is_named_with_what_was_expected(make, what, cure):
    with pytest.raises(BlockError) as caught:
        make()
    message = str(caught.value)
    assert what in message, message
    assert cure in message, message


def test_the_error_carries_the_value_and_the_cure_as_fields():
    with pytest.raises(BlockError) as caught:
        Pulse(width=25)
    assert caught.value.value == 25
    assert caught.value.hint == "It is a part of the period: write 0.25 for 25 %."


WRONG_SIZES = [
    (Sum("+-"), {"in1": 2, "in2": 3}, "Sum: sizes differ: in1 has 2, in2 has 3", "Mux, Selector"),
    (Product("*/"), {"in1": 2, "in2": 3}, "Product: sizes differ", "a scalar expands"),
    (Gain([1, 2]), {"u": 3}, "Gain: sizes differ: k has 2, u has 3", "equal"),
    (Saturation([0, 0], 1), {"u": 3}, "Saturation: sizes differ: u has 3, low has 2", "equal"),
    (PID([1, 2]), {"e": 3}, "PID: sizes differ: e has 3", "kp has 2"),
    (Selector([0, 4]), {"in": 3}, "Selector: index 4 is beyond the 3 components", "the last component is 2"),
]


@pytest.mark.parametrize(("block", "sizes", "what", "cure"), WRONG_SIZES, ids=lambda v: type(v).__name__)
def test_wrong_input_sizes_are_named_by_port(block, sizes, what, cure):
    with pytest.raises(BlockError, match=re.escape(what)) as caught:
        trace(block, sizes)
    assert cure in str(caught.value)


def test_what_is_unusual_but_right_is_accepted():
    UnitDelay(Fraction(1, 60), "1/120")
    Saturation(-np.inf, np.inf)
    StateSpace(0, 1, 1)
    TimeTable([-1, 0], [0, 1])
    Pulse(width=Fraction(1, 3))


@dataclass(frozen=True)
class NotSampled(Block):
    """An output without ticks that is given what only others have."""

    given: dict[str, Any]

    def define(self, b):
        b.output("y", b.input("u"), **self.given)


@pytest.mark.parametrize(("name", "value"), [("offset", 0.5), ("initial", -7.0), ("initial", [0.0])])
def test_what_belongs_to_sampled_outputs_is_refused_of_others(name, value):
    with pytest.raises(BlockError, match=f"{name} of output 'y' is .* sampled outputs") as caught:
        trace(NotSampled({name: value}), {"u": 1})
    assert caught.value.hint == f"Give it sample=, or leave {name} out."
