"""What constraints, forces and values may know of the solution."""

from types import SimpleNamespace

import casadi as ca

from plant.elements import Reference_Variable
from plant.equations.outcome import Awaited, Solved, Withheld, _by_variable


def test_only_what_waits_for_the_solution_is_worked_out_anew():
    known, symbol = ca.SX.sym("known"), ca.SX.sym("lam")
    for outcome in (Withheld, Solved):
        assert not object.__new__(outcome).waits(symbol)
    awaited = Awaited(None, None, SimpleNamespace(used=lambda value: [symbol]))
    assert awaited.waits(known + symbol)


def test_a_constraint_that_holds_by_itself_has_no_multiplier():
    """Variable 7 has a condition, 8 none, and 9 is a joint."""
    sources = [
        Reference_Variable(id=7, expr="DX(20)"),
        Reference_Variable(id=8, expr="0"),
        SimpleNamespace(id=9),
    ]
    constraints = [SimpleNamespace(source=source) for source in sources]
    conditions = [SimpleNamespace(constraint=constraints[2]), SimpleNamespace(constraint=constraints[0])]
    closure = SimpleNamespace(constraints=constraints, conditions=conditions)
    found = _by_variable(closure, lambda k: ca.SX(10.0 + k))
    assert {id: float(value) for id, value in found.items()} == {7: 11.0, 8: 0.0}
    assert _by_variable(None, ca.SX) == {}
