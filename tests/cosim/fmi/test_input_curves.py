"""Inputs that follow a curve over a step: derivatives of FMI 2.0, and values that FMI 3.0 asks for in it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cosim.fmi.description import Variable
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.input_curves import InputDerivatives, IntermediateInputs


def real(name: str, reference: int, size: int = 1, **more: bool) -> Variable:
    shape = () if size == 1 else (size,)
    return Variable(name, reference, "Float64", "input", "continuous", shape=shape, **more)


WHOLE = Variable("n", 5, "Int32", "input", "discrete")


def test_derivatives_are_given_of_real_inputs_by_order():
    noted = []
    component = SimpleNamespace(set_input_derivatives=lambda *given: noted.append([list(g) for g in given]))
    inputs = InputDerivatives(component, [real("a", 7), WHOLE, real("b", 3)])
    inputs.set([(1, np.array([1.0, 2.0, 3.0])), (2, np.array([4.0, 5.0, 6.0]))])
    assert noted == [[[7, 3, 7, 3], [1, 1, 2, 2], [1.0, 3.0, 4.0, 6.0]]]
    InputDerivatives(component, [WHOLE]).set([(1, np.array([1.0]))])
    assert len(noted) == 1


class Curves:
    """Intermediate inputs of an instance that notes what is set, and refuses values above `most`."""

    def __init__(self, *variables: Variable) -> None:
        self.set, self.of, self.most = [], [], np.inf
        component = SimpleNamespace(setter=self.setter)
        self.inputs = IntermediateInputs()
        self.inputs.belongs_to(component, variables)

    def setter(self, variables):
        self.of = [v.name for v in variables]
        return SimpleNamespace(write=self.write)

    def write(self, values):
        if (values > self.most).any():
            raise ValueError(f"{values.max():g} is too much")
        self.set.append(values.tolist())

    def ask(self, t: float, wanted: bool = True) -> None:
        """As the FMU does in its step."""
        f = ffi()
        self.inputs.callback(f.NULL, t, wanted, not wanted, True, True, f.new("bool *"), f.new("double *"))


def curves() -> Curves:
    """u = (1, 2, 3, 4, 5) + 10 s + 100 s^2 / 2 k in the k-th, of which some may be set in a step."""
    yes = {"intermediate_update": True}
    c = Curves(
        real("a", 1), real("b", 2, 2, **yes), real("none", 4, 0, **yes), real("c", 3), real("d", 6, **yes)
    )
    c.inputs.follow(2.0, np.arange(1.0, 6.0), np.full(5, 10.0), 100.0 * np.arange(5.0))
    return c


def test_values_are_those_of_the_curve_at_the_time_that_is_asked_for():
    c = curves()
    assert c.of == ["b", "d"]
    c.ask(2.0)
    c.ask(2.5)
    c.ask(2.5, wanted=False)
    assert c.set == [[2.0, 3.0, 5.0], [2 + 5 + 12.5, 3 + 5 + 25.0, 5 + 5 + 50.0]]
    c.inputs.follow(3.0, np.zeros(5), np.ones(5), np.zeros(5))
    c.ask(2.5)
    c.inputs.hold()
    c.ask(3.5)
    assert c.set[2:] == [[-0.5, -0.5, -0.5]]
    assert c.inputs.shared[:3].tolist() == [0.0, 0.0, 3.0]  # compiled code reads them


def test_what_fails_in_a_step_is_raised_behind_it():
    """The first error; the next step begins afresh."""
    c = curves()
    c.most = 30.0
    c.inputs.raise_problem()
    for t in (2.4, 2.5, 2.6):
        c.ask(t)
    assert c.set == [] and c.inputs.shared[1] == 1.0  # 5 + 4 + 32 at 2.4 s is the first
    with pytest.raises(ValueError, match="41 is too much"):
        c.inputs.raise_problem()
    assert c.inputs.shared[1] == 0.0
    c.inputs.raise_problem()
    c.ask(2.0)
    assert c.set == [[2.0, 3.0, 5.0]]


def test_nothing_is_set_before_there_is_an_instance_or_without_such_inputs():
    inputs = IntermediateInputs()
    inputs.shared[0] = 1.0
    f = ffi()
    inputs.callback(f.NULL, 1.0, True, False, False, False, f.new("bool *"), f.new("double *"))
    c = Curves(real("a", 1))
    c.inputs.follow(0.0, np.ones(1), np.ones(1), np.ones(1))
    c.ask(0.5)
    assert c.set == [] and c.inputs.problem is inputs.problem is None
