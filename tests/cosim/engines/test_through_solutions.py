"""Jacobians through values found by solving equations, beside CasADi's derivatives of how they are found."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

from blocks import Constant
from blocks.contract.block import Block, Equations
from blocks.contract.declared import ImplicitSolution
from blocks.contract.symbols import as_array, column
from cosim import Diagram, Enabled
from cosim.engines.methods import through_solutions
from cosim.engines.methods.stiff import linearised
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Force_Penalty,
    Force_SpringDamper,
    Force_Vector_OneBody,
    Model,
    Reference_Spline,
)
from tests.helpers.loops import at, n_four_bar


def cramer(k: ca.MX, right: ca.MX) -> ca.MX:
    """Solution of a system of two equations, with its matrix column by column."""
    a, c, b, d = ca.vertsplit(k)
    return ca.blockcat([[d, -b], [-c, a]]) @ right / (a * d - b * c)


@dataclass(frozen=True)
class Pushed(Block):
    """M(x) y = x^2 + u + t; y is the output and the rate of x, and `factors` are M itself."""

    a: float = 2.0

    def define(self, b: Equations) -> None:
        u, x = b.input("u", 2), b.continuous("x", [0.3, -0.2])
        s, right = column(x), column(x * x + u + b.time)
        M = ca.vertcat(ca.horzcat(self.a + s[1] ** 2, s[0]), ca.horzcat(s[0], 3 + ca.sin(s[1])))
        y = ca.solve(M, right)

        def made() -> ImplicitSolution:
            return ImplicitSolution(y, M @ y - right, ca.vec(M), cramer)

        b.implicit_solution(made)
        b.derivative(x, as_array(y))
        b.output("y", as_array(y))


def compared(system, monkeypatch, rng) -> None:
    """The Jacobian of a system and CasADi's own, at a random state."""
    monkeypatch.setattr(through_solutions, "LONG", 0)
    function, plan = linearised(system)
    s, n = system, len(system.x0)
    arguments = [0.7, s.x0 + 0.05 * rng.standard_normal(n), s.h0, s.w0, s.p0]
    values = np.array(function(*arguments)).ravel()
    found = np.zeros((n, n))
    found[plan.rows, np.repeat(np.arange(n), np.diff(plan.column_start))] = values[: len(plan.rows)]
    own = [ca.jacobian(s.derivative, v) for v in (s.x, s.t)]
    by_x, by_t = map(np.array, ca.Function("f", [s.t, s.x, s.h, s.w, s.p], own)(*arguments))
    size = abs(by_x).max()
    assert found == pytest.approx(by_x, abs=1e-12 * size)
    assert values[len(plan.rows) :] == pytest.approx(by_t.ravel(), abs=1e-12 * size)


def exact(system, monkeypatch, rng) -> None:
    """The Jacobian through solutions and CasADi's own, at a random state: that of the reference engine."""
    monkeypatch.setattr(through_solutions, "LONG", 0)
    s, n = system, len(system.x0)
    own = [ca.jacobian(s.derivative, v) for v in (s.x, s.t)]
    found = (
        through_solutions.jacobian(s) or own
    )  # where a function is called twice, values are not recognised
    f = ca.Function("f", [s.t, s.x, s.h, s.w, s.p], [ca.densify(J) for J in (*found, *own)])
    arguments = [0.7, s.x0 + 0.05 * rng.standard_normal(n), s.h0, s.w0, s.p0]
    by_x, by_t, own_x, own_t = map(np.array, f(*arguments))
    size = abs(own_x).max()
    assert by_x == pytest.approx(own_x, abs=1e-12 * size)
    assert by_t == pytest.approx(own_t, abs=1e-12 * size)


def chain(second_first: bool = True) -> Diagram:
    """The second is pushed by what the first finds; one of them is drawn first."""
    d = Diagram("chain")
    if second_first:
        second, first = d.add("second", Pushed(3.0)), d.add("first", Pushed())
    else:
        first, second = d.add("first", Pushed()), d.add("second", Pushed(3.0))
    d.connect(d.add("u", Constant([0.5, 1.0])), first)
    d.connect(first, second)
    return d


@pytest.mark.parametrize("second_first", [True, False])
def test_equations_that_use_each_others_solutions(second_first, monkeypatch):
    s = chain(second_first).system()
    compared(s, monkeypatch, np.random.default_rng(1))
    assert len(through_solutions.solutions_of(s)) == 2
    assert len(through_solutions._in_order(through_solutions._apart(s, s.implicit()))) == 2


@pytest.mark.filterwarnings("ignore:.*repeat what")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_mechanism_with_redundant_conditions_off_them(coordinates, monkeypatch):
    """Two windows of parallelograms: their hinges repeat conditions; exact also where they are not closed."""
    d = Diagram("windows")
    d.add("plant", Plant.from_model(n_four_bar(2), coordinates=coordinates))
    s = d.system()
    compared(s, monkeypatch, np.random.default_rng(2))
    f = linearised(s)[0]
    assert any(f.instruction_id(k) == ca.OP_CALL for k in range(f.n_instructions()))  # of the solution


CURVE = Reference_Spline(id=1, x=(-1.0, 0.0, 1.0, 2.0, 3.0), y=(0.1, -0.4, 0.3, 0.9, 0.2))
SCRIPT = """
def VFOSUB(id, time, par, npar, dflag, iflag):
    x, e = py_sysfnc("DX", [22])
    y, e = py_sysfnc("DY", [22])
    return [float(x) * time, float(y) + 2.0, 0.0]
"""


@pytest.mark.filterwarnings("ignore:.*repeat what", "ignore:.*is called at run time")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_mechanism_that_calls_functions(coordinates, monkeypatch, tmp_path):
    """A spline in a force and one in a condition; a routine with several results, some of them used."""
    (tmp_path / "s.py").write_text(SCRIPT)
    pushed = Force_Vector_OneBody(
        id=1, type="FORCEONLY", marker_id=22, ref_marker_id=0, fx_expression="CUBSPL(DX(22), 0, 1)"
    )
    routine = Force_Vector_OneBody(
        id=2,
        type="FORCEONLY",
        marker_id=32,
        ref_marker_id=0,
        script_name=str(tmp_path / "s.py"),
        interpreter="PYTHON",
    )
    lifted = Force_Penalty(id=1, expr="DY(32) - CUBSPL(DX(32), 0, 1)", penalty=50.0, penalty1=2.0)
    model = n_four_bar(1)
    elements = [e for same in model.elements.values() for e in same.values()]
    built = Model.build([*elements, CURVE, pushed, routine, lifted])
    d = Diagram("called")
    d.add("plant", Plant.from_model(built, trust=True, coordinates=coordinates))
    exact(d.system(), monkeypatch, np.random.default_rng(4))


@pytest.mark.filterwarnings("ignore:.*repeat what")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_body_that_no_condition_holds(coordinates, monkeypatch):
    """On a spring: CasADi writes a + b for a - (-b) in its equations, while its solution is -b."""
    model = n_four_bar(1)
    elements = [e for same in model.elements.values() for e in same.values()]
    own = {"mass": 2.0, "inertia_xx": 0.3, "inertia_yy": 0.4, "inertia_zz": 0.5, "w_ic_x": 0.2}
    free = [
        Body_Rigid(id=9, cg_id=90, **own),
        at(90, 9, 3.0, 0.2),
        at(91, 9, 3.1, 0.4, z=0.3),
        at(12, 1, 3.2, 1.0),
        Force_SpringDamper(
            id=1, type="TRANSLATIONAL", i_marker_id=91, j_marker_id=12, stiffness=9.0, damping=0.5, length=0.4
        ),
    ]
    d = Diagram("free")
    d.add("plant", Plant.from_model(Model.build([*elements, *free]), coordinates=coordinates))
    exact(d.system(), monkeypatch, np.random.default_rng(5))


def test_short_derivatives_and_parts_that_are_switched_are_differentiated_as_they_are(monkeypatch):
    assert through_solutions.jacobian(chain().system()) is None
    d = Diagram("switched")
    part = d.add("part", Enabled(Pushed()))
    d.connect(d.add("on", Constant(1.0)), part["enable"])
    d.connect(d.add("u", Constant([0.5, 1.0])), part["u"])
    s = d.system()
    compared(s, monkeypatch, np.random.default_rng(3))
    assert through_solutions.jacobian(s) is None


def test_the_factors_of_the_solution_are_a_part_of_the_key(monkeypatch):
    """Another residual makes another Jacobian: the code of the first is not taken for it."""
    monkeypatch.setattr(through_solutions, "LONG", 0)
    found = {f.serialize() for s in (chain().system(),) for f in through_solutions.equations(s)}
    assert len(found) == 2  # the equations, and one way to solve that both blocks share
    monkeypatch.setattr(through_solutions, "LONG", 10**6)
    assert through_solutions.equations(chain().system()) == []
