"""The code of an exported model: of its solver and equations, what shown signals need, and no more."""

from __future__ import annotations

import re

import pytest

import blocks as B
from cosim import Diagram
from cosim.fmi.export.exported_model import ExportedModel, _identifier, _pieces
from cosim.fmi.export.exported_variables import variables_of
from cosim.run.context import Context
from cosim.settings import RunSettings


def model(d, solver="rk4", kinds=("cs", "me"), stop=None, interval=None, outputs=None, **settings):
    system = d.system()
    context = Context.initial(system)
    variables = variables_of(system, context, outputs=outputs)
    run = RunSettings.of(None, solver=solver, **settings)
    return ExportedModel(system, run, context, variables, "unit", kinds, stop, interval)


def lag():
    d = Diagram("lag")
    d.connect(d.inport("u"), d.add("lag", B.FirstOrder(gain=2.0))["u"])
    d.outport("y", "lag.y")
    return d


@pytest.mark.parametrize("solver", ["rk4", "dopri5", "rodas4", "euler"])
def test_code_has_the_steps_of_its_solver_alone(solver):
    """A stiff one has none, but a Jacobian and its table; derivatives are there for all."""
    made = model(lag(), solver)
    text = "".join(f.text for f in made.equations)
    stiff = solver == "rodas4"
    assert set(re.findall(r"\bstep_(\w+)\(", text)) == (set() if stiff else {solver})
    assert {f.name for f in made.equations} == {
        "model.c", "forward_jacobian.c", "adjoint_jacobian.c", *(["stiff_jacobian.c"] if stiff else []),
    }  # fmt: skip
    assert ("unit_stiff_code" in made.data.text) is ("t_stiff" in made.data.text) is stiff
    for name in ("unit_forward_code", "unit_adjoint_code"):
        assert re.search(rf"#define pl_get_jacobian {name}\n", text) and f"= {name}," in made.data.text
    assert (made.data.name, made.data.level, made.plan is not None) == ("tables.c", "-O1", stiff)


def test_names_of_one_code_are_not_those_of_another():
    """Of equations, Jacobians and derivatives: each function that others see is defined once."""
    defined = re.compile(r"^(?:const )?(?:void|int|double|pl_\w+) \*?(\w+)\([^;]*\)\s*\{", re.M)
    renamed = re.compile(r"^#define (\w+) (\w+)\n", re.M)
    seen = []
    for f in model(lag(), "rodas4").equations:
        other = dict(renamed.findall(f.text))
        seen += [other.get(n, n) for n in defined.findall(f.text)]
    assert len(set(seen)) == len(seen) and {"pl_get_model", "unit_forward_code"} <= set(seen)


def test_shown_signals_are_their_expressions_in_order():
    d = lag()
    d.add("twice", B.Gain([2.0, 3.0]))
    d.connect("lag.y -> twice.u")
    found = model(d, outputs=["twice.y[1]", "lag.y", "twice.y[0]"]).shown
    system = d.system()
    at = system.function("shown", lambda: [found])
    (gains,) = (system.p0[system.parameters["twice.k"].index],)
    assert gains.tolist() == [2.0, 3.0]
    value = at(0.0, [5.0], system.h0, system.w0, system.p0).full().ravel()
    y = value[1]
    assert y != 0.0 and value.tolist() == [3.0 * y, y, 2.0 * y]
    assert model(lag(), outputs=[]).shown.numel() == 0


PIECES = {"outputs": [[0, 3], [1], [2], [4]], "needs": [[], [0], [1, 3], []]}


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ([], []),
        ([0], [0]),
        ([3, 0], [0]),
        ([1], [0, 1]),
        ([2], [0, 1, 2, 3]),
        ([4, 1], [0, 1, 3]),
        ([4], [3]),
    ],
)
def test_pieces_of_code_are_those_of_what_is_shown_and_what_these_need(shown, found):
    assert _pieces(PIECES, shown) == found


@pytest.mark.parametrize(
    ("stem", "found"),
    [
        ("loop", "loop"),
        ("my loop-2", "my_loop_2"),
        ("2nd", "_2nd"),
        ("_x", "_x"),
        ("\u00e9t\u00e9", "_t_"),
        ("A9", "A9"),
    ],
)
def test_identifiers_of_c(stem, found):
    assert _identifier(stem) == found
