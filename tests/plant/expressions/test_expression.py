"""The language: grammar, precedence, what an expression knows about itself, jumps in time."""

import json
import math
import pathlib
import pickle
import subprocess
import sys
import warnings

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.contract.symbols import tracing
from plant.expressions import expression
from plant.expressions.expression import (
    ExpressionError,
    MarkerState,
    PlantWarning,
    Refusal,
    parse,
    parse_optional,
)
from plant.expressions.grammar import fault
from plant.expressions.splines import SplineData
from tests.helpers.checked import published
from tests.helpers.scope import Symbols, at, number

REFERENCE = pathlib.Path(__file__).parents[2] / "data" / "reference" / "expressions.json"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-2**2", -4),  # as Fortran: the power binds tighter than the sign
        ("2**-1", 0.5),
        ("2**3**2", 512),
        ("-2**-2", -0.25),
        ("2*-3", -6),
        ("--2", 2),
        ("+2 - +3", -1),
        ("8/4/2", 1),
        ("8/4*2", 4),
        ("2-3-4", -5),
        ("2+3*4**2", 50),
        ("(2+3)*4", 20),
        ("1.5E1 + .5 + 2.", 17.5),
        ("1e-3", 1e-3),
        ("60D", math.pi / 3),
        ("1.8E2D", math.pi),
        ("30D -5", math.pi / 6 - 5),
        ("360D*TIME", 2 * math.pi * 0.25),
        ("SIN(30D)", 0.5),
        ("sIn (30d)", 0.5),
        ("PI*RTOD + dtor*180", 180 + math.pi),
        ("pi/180 - DTOR", 0),
        ("IF(-1: 2, 3, 4)*100 + IF(0: 2, 3, 4)*10 + IF(1: 2, 3, 4)", 234),
        ("MAX(1, 2\n,\t3)", 3),
        ("VARVAL( 1 )**2", 9),
    ],
)
def test_value(text, expected):
    assert number(text, x=3, time=0.25) == pytest.approx(expected, rel=1e-15, abs=1e-15)


def test_d_behind_a_number_is_never_an_exponent():
    with pytest.warns(PlantWarning, match="30D means degrees"):
        assert number("30D-5") == pytest.approx(math.pi / 6 - 5)


numbers = st.one_of(st.integers(0, 9).map(str), st.floats(0.1, 9).map(lambda v: f"{v:.3f}"))


def _combined(inner):
    # blanks where they are allowed, brackets around everything and nothing
    binary = st.tuples(inner, st.sampled_from([" + ", "-", "*", " /"]), inner).map("".join)
    signed = st.tuples(st.sampled_from(["-", "+", "- "]), inner).map("".join)
    whole = st.tuples(numbers, st.sampled_from(["**2", "**3", "**-1", " ** 2"])).map("".join)
    return st.one_of(binary, signed, whole, inner.map(lambda text: f"( {text})"), st.just("v"))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.recursive(numbers, _combined, max_leaves=12), st.floats(-3, 3))
def test_arithmetic_is_that_of_python(text, v):
    try:
        expected = eval(text, {"v": v})
    except ZeroDivisionError:
        return
    try:
        value = number(text.replace("v", "VARVAL(1)"), v)
    except ExpressionError as error:  # a literal part like 1/(2-2)*0 that Python never meets
        assert "not a finite number" in str(error)
        return
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_published_values(checked):
    reference = json.loads(REFERENCE.read_text())
    printed = published("examples of the language's reference")
    for angle, ratio in reference["steering_ratio_step_100_1000_150_1500"]:
        found = number("step(varval(1),100,1000,150,1500)", angle)
        checked(found, ratio, "steering ratio", "STEP", printed, rtol=1e-14)
    for g, w in reference["penalty_smoothing_step_0_0_1_1"]:
        found = number("STEP(VARVAL(1), 0, 0, 1, 1)", g)
        checked(found, w, "smoothing of a penalty", "STEP", printed, rtol=1e-14, atol=1e-300)
    energy = reference["kinetic_energy_example"]
    terms = "+".join(f"{I}*({w})**2" for I, w in zip(energy["I"], energy["w"], strict=True))
    assert number(f"0.5*({energy['m']}*VARVAL(1)**2 + {terms})", energy["VM"]) == pytest.approx(energy["KE"])


def test_references():
    text = (
        "DX(11, 0, 12) + varval(4) + VARVAL(4) + ARYVAL(3,1) + DIF(5) + DIF1(6) + PINVAL(7,2) + POUVAL(8,1)"
        "+ SENVAL(9) + CUBSPL(TIME,0,1) + JOINT(3,0,2,13) + MOTION(2,1,1) + FX(21,22) + ACCX(31,0,0,32)"
    )
    assert parse(text).references() == {
        *(("marker", (id,)) for id in (11, 12, 13, 21, 22, 31, 32)),
        ("variable", (4,)),
        ("array", (3, 1)),
        ("state", (5,)),
        ("state_rate", (6,)),
        ("plant_input", (7, 2)),
        ("plant_output", (8, 1)),
        ("sensor", (9,)),
        ("spline", (1,)),
        ("time", ()),
        ("element", ("Constraint_Joint", 3)),
        ("element", ("Motion_Joint|Motion_Marker", 2)),
        ("force", (21, 22)),
        ("acceleration", (31,)),
        ("acceleration", (32,)),
    }


def test_an_expression_is_a_value():
    text = "STEP(TIME, 1, 0, 2, 5) - 10*VZ(3, 4)"
    first, second = parse(text, "a.xml:3"), parse(text, "a.xml:3")
    assert first == second
    assert hash(first) == hash(second)
    assert first != parse(text, "a.xml:4")
    copy = pickle.loads(pickle.dumps(first))
    assert copy == first
    assert copy.references() == first.references()


def test_text_that_means_nothing_is_defined():
    assert parse_optional(None) is None
    assert parse_optional("  ") is None
    assert parse_optional(" null ") is None
    assert parse_optional("0").text == "0"


def test_line_breaks_keep_columns():
    expression = parse("1 +\n\tSQRT(\r\nVARVAL(1))")
    assert expression.text == "1 + " + " SQRT(  VARVAL(1))"
    assert [column for _, column, _ in expression.terms(Symbols())] == [13, 6, 3]


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        ("(" * 1_000_000 + "1" + ")" * 1_000_000, "2000001 characters, and at most 200000 are read", 200_001),
        ("1+" * 100_000 + "1", "200001 characters, and at most 200000 are read", 200_001),
        ("1 +\n" + "(" * 90_000 + "1" + ")" * 90_000, "more than 2500 brackets within brackets", 2505),
        ("ABS(" * 2501 + "1" + ")" * 2501, "more than 2500 brackets within brackets", 4 * 2501),
    ],
)
def test_too_long_and_too_deep_texts_are_refused_unread(monkeypatch, text, problem, column):
    monkeypatch.setattr(expression, "read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(ExpressionError) as caught:
        parse(text, "model.xml:3: Reference_Variable id=7, expr")
    message = str(caught.value)
    assert problem in message and f"in model.xml:3: Reference_Variable id=7, expr, column {column}" in message
    assert "VARVAL" in message and len(message) < 600 and "\n    ..." in message


def test_brackets_side_by_side_are_not_deep():
    assert len(parse("+".join(["(1)"] * 3000)).steps) == 5999


@pytest.mark.slow
def test_long_text_needs_no_recursion():
    text = "+".join(f"{k}*VARVAL(1)" for k in range(3000)) + "+" + "(" * 2000 + "1" + ")" * 2000
    assert number(text, 0.5) == pytest.approx(sum(range(3000)) / 2 + 1)


def test_terms_name_what_is_not_finite():
    scope = Symbols()
    expression = parse("2 + IF(VARVAL(1): 0, 0, LOG(VARVAL(1)))*3 + SQRT(VARVAL(1) - 2)/VARVAL(2)")
    terms = expression.terms(scope)
    f = ca.Function("f", [scope.variable(1), scope.variable(2)], [value for *_, value in terms])
    values = [float(v) for v in f(-1.0, 1.0)]
    bad = next(k for k, value in enumerate(values) if not math.isfinite(value))
    # the logarithm is not finite either, but IF does not choose it
    assert terms[bad][:2] == ("SQRT(VARVAL(1) - 2)", 45)
    values = [float(v) for v in f(3.0, 0.0)]
    bad = next(k for k, value in enumerate(values) if not math.isfinite(value))
    assert terms[bad][:2] == ("SQRT(VARVAL(1) - 2)/VARVAL(2)", 64)


@pytest.mark.parametrize(("e1", "chosen"), [(-2.0, 0), (0.0, 1), (2.0, 2)])
def test_terms_that_an_if_does_not_choose_are_nothing(e1, chosen):
    scope = Symbols()
    terms = parse("IF(VARVAL(1): ABS(3), ABS(VARVAL(2)), IF(1: ABS(4), 0, COS(0)*5))").terms(scope)
    f = ca.Function("f", [scope.variable(1), scope.variable(2)], [value for *_, value in terms])
    found = dict(zip([text for text, *_ in terms], map(float, f(e1, 7.0)), strict=True))
    parts = [found["ABS(3)"], found["ABS(VARVAL(2))"], found["COS(0)*5"]]
    expected = [3.0, 7.0, 5.0]
    assert parts == [expected[k] if k == chosen else 0.0 for k in range(3)]
    assert found["ABS(4)"] == 0.0 and found["VARVAL(1)"] == e1
    assert found["VARVAL(2)"] == (7.0 if chosen == 1 else 0.0)


def test_names_that_are_no_functions():
    for text, problem in (("2*TIME(1)", "TIME is not a function"), ("PI(1)", "PI is not a function")):
        with pytest.raises(ExpressionError, match=problem):
            parse(text)
    with pytest.raises(ExpressionError) as caught:
        parse("TIMES(1)")
    assert "is not a function" not in str(caught.value)


def test_a_short_text_is_shown_whole():
    _, shown, caret = str(fault("1+$", 2, "no")).splitlines()
    assert shown == "    1+$" and caret == "      ^"


@pytest.mark.parametrize("at", [0, 10, 49, 51, 150, 299])
def test_a_long_text_is_shown_around_its_fault(at):
    """A hundred characters of three hundred, with dots where more follows, and the caret under the fault."""
    text = "+" * at + "$" + "-" * (299 - at)
    _, shown, caret = str(fault(text, at, "no")).splitlines()
    assert shown[caret.index("^")] == "$" and shown.count("+") + shown.count("-") == 99
    assert shown.startswith("    ...") == (at > 50) and shown.endswith("...") == (at < 250)
    assert shown.count("+") == (at if at <= 50 else 50 if at < 250 else at - 200)


def test_last_term_is_the_value():
    scope = Symbols()
    expression = parse("SIN(TIME)*2 + IF(TIME: 1, 2, VARVAL(1))")
    text, column, value = expression.terms(scope)[-1]
    assert (text, column) == (expression.text, 13)
    assert ca.is_equal(value, expression.evaluate(scope), 20)


def test_evaluates_while_a_block_is_traced():
    scope = Symbols()
    text = "STEP(TIME,0,1,2,3)*VARVAL(1)**0.5 + MAX(VARVAL(1), 2) + AZ(1)/DM(1) + IMPACT(TIME,0,1,2,3,4,5)"
    scope.markers[1] = _still([1, 2, 2])
    plain = parse(text).evaluate(scope)
    with tracing():
        traced = parse(text).evaluate(scope)
    f = ca.Function("f", [scope.time, scope.variable(1)], [plain, traced])
    first, second = f(0.5, 0.7)
    assert float(first) == float(second)


def test_refusal_of_the_plant_gets_a_place():
    class Refusing(Symbols):
        def force(self, function, ids):
            raise Refusal("reactions are not available in a motion")

    expression = parse("1 + JOINT(3, 0, 2)", "m.xml:8 Motion_Joint id=1 expr")
    with pytest.raises(ExpressionError, match="reactions are not available") as info:
        expression.evaluate(Refusing())
    assert "column 5" in str(info.value)
    assert info.value.path == "m.xml:8 Motion_Joint id=1 expr"


def test_accelerations_are_refused_where_there_are_none():
    scope = Symbols({1: _still([0, 0, 0])})
    with pytest.raises(ExpressionError, match=r"ACCX: accelerations are not available here"):
        parse("2*ACCX(1)").evaluate(scope)


def test_forces_are_passed_on_with_all_arguments():
    scope = Symbols()
    for text in ("FX(1)", "fx(1,0,2)", "TM(1,2)", "SFORCE(4,0,1)", "BUSH(4,1,8,9)"):
        parse(text).evaluate(scope)
    assert list(scope.symbols) == [
        ("FX", 1, 0, 0),
        ("FX", 1, 0, 2),
        ("TM", 1, 2),
        ("SFORCE", 4, 0, 1, 0),
        ("BUSH", 4, 1, 8, 9),
    ]


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("STEP(TIME, 1, 0, 2, 5)", (1.0, 2.0)),
        ("2*STEP5(2*TIME - 1, 1, 0, 2, 5)", (1.0, 1.5)),
        ("HAVSIN(-TIME, -3, 0, -1, 5)", (1.0, 3.0)),
        ("STEP(TIME, 1, 0, 2, 5) - STEP(TIME, 2, 0, 3, 5)", (1.0, 2.0, 3.0)),
        ("IF(TIME - 1.5: 0, 0, IF(TIME - 2: 1, 1, 3))", (1.5, 2.0)),
        ("ABS(3*(TIME - 0.5)/2)", (0.5,)),
        ("MAX(TIME, 1, 2*TIME - 2)", (1.0, 1.5, 2.0)),
        ("MIN(TIME + 1, TIME)", ()),
        ("DIM(TIME, 2)", (2.0,)),
        ("DIM(1 + 2*TIME, 5)", (2.0,)),
        ("DIM(TIME - (3 - TIME), 1)", (2.0,)),
        ("DIM(TIME + TIME/2, 3)", (2.0,)),
        ("SIGN(5, 1 - TIME)", (1.0,)),
        ("SWEEP(TIME, 1, 0.25, 2, 3, 4, 0.5)", (0.25, 0.75, 3.0)),
        ("STEP(TIME, 2**2 - SQRT(4), 0, 2*1.5, 1)", (2.0, 3.0)),
        ("STEP(SIN(TIME), 0, 0, 1, 1) + STEP(TIME**2, 0, 0, 1, 1)", ()),  # not lines in TIME
        ("STEP(TIME, VARVAL(1), 0, VARVAL(2), 1)", ()),
        ("STEP(VARVAL(1), 0, 0, 1, 1)", ()),
    ],
)
def test_break_times(text, times):
    assert parse(text).break_times() == pytest.approx(times)


@pytest.mark.parametrize("name, sign", [("MAX", 1), ("MIN", -1)])
def test_break_times_of_the_largest_of_many_lines(name, sign):
    """Tangents of t^2 at 0, 1, ..., 39 take over halfway between these; lines below their corners never do.

    The least of the tangents changes at 19.5, where they are 0 and 39.
    """
    tangents = [(2 * k, k * k) for k in range(40)]
    below = [(2 * k + 1, k * k + k + 0.75) for k in range(39)]  # 0.25 under the corner at k + 1/2
    lines = [f"{sign * a}*TIME - {sign}*{b}" for a, b in [*below, *tangents[::-1]]]
    found = parse(f"{name}({', '.join(lines[1::2] + lines[::2])})").break_times()
    assert sorted(set(found)) == pytest.approx(np.arange(39) + 0.5)


def test_break_times_of_straight_line_splines():
    data = SplineData([0.0, 1.0, 3.0, 4.0, 9.0], [0.0, 1.0, 0.0, 2.0, 0.0])
    expression = parse("LINSPL(2*TIME + 1, 0, 7) + CUBSPL(TIME, 0, 7)")
    assert expression.break_times() == ()
    assert expression.break_times(spline=lambda id: data) == (0.0, 1.0, 1.5)


@pytest.mark.parametrize(
    ("text", "times", "before", "after"),
    [
        ("IF(TIME - 1: 5, 6, 7)", (1.0,), 5, 7),
        ("IF(2 - 2*TIME: 5, 6, 7)", (1.0,), 7, 5),
        ("SIGN(-3, TIME - 1)", (1.0,), -3, 3),
        ("SIGN(3, 1 - TIME)", (1.0,), 3, -3),
    ],
)
def test_a_jump_in_time_counts_instants(text, times, before, after):
    scope = Symbols()
    value = parse(text).evaluate(scope)
    assert not ca.depends_on(value, scope.time)  # no equation compares the time with a break point
    f = ca.Function("f", [scope.passed(times)], [value])
    assert (float(f(0)), float(f(1))) == (before, after)


def test_a_step_backwards_is_a_jump_and_a_warning():
    with pytest.warns(PlantWarning, match=r"STEP: x1 = 1 is not greater than x0 = 2.*\n.*\n *\^"):
        expression = parse("3 + STEP(TIME, 2, 0, 1, 5)")
    scope = Symbols()
    value = expression.evaluate(scope)
    assert not ca.depends_on(value, scope.time)
    f = ca.Function("f", [scope.passed((2.0,))], [value])
    assert (float(f(0)), float(f(1))) == (3, 8)
    with pytest.warns(PlantWarning):
        assert [number("STEP(VARVAL(1), 2, 0, 1, 5)", x) for x in (1.5, 2, 2.1)] == [0, 0, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse("STEP(TIME, VARVAL(1), 0, VARVAL(2), 5)")


def test_slope_of_straight_lines_over_time_counts_instants():
    data = SplineData([0.0, 1.0, 3.0, 4.0], [0.0, 1.0, 0.0, 2.0])
    scope = Symbols(splines={1: data})
    value = parse("LINSPL(TIME, 0, 1, 1)").evaluate(scope)
    assert not ca.depends_on(value, scope.time)
    f = ca.Function("f", [scope.passed((1.0, 3.0))], [value])
    assert [float(f(k)) for k in range(3)] == [1, -0.5, 2]
    backwards = parse("LINSPL(4 - TIME, 0, 1, 1)").evaluate(scope)
    f = ca.Function("f", [scope.passed((1.0, 3.0))], [backwards])
    assert [float(f(k)) for k in range(3)] == [2, -0.5, 1]
    assert [number("LINSPL(TIME, 0, 1, 1)", time=t, scope=Symbols(splines={1: data})) for t in (0.5, 2)] == [
        1,
        -0.5,
    ]


def test_derivative_passes_through_operators():
    np.testing.assert_allclose(at("VARVAL(1)**3/2 - 1/VARVAL(1)", 2.0), [3.5, 6.25, 5.75])


@pytest.mark.slow
def test_heavy_libraries_are_imported_when_needed():
    code = (
        "import sys, plant.expressions.expression as e; print('lark' in sys.modules, 'scipy' in sys.modules);"
    )
    code += "e.parse('1'); print('lark' in sys.modules)"
    root = pathlib.Path(__file__).parents[3]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False", "True"]


def _still(r):
    return MarkerState(ca.SX(ca.DM(r)), ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3))


def test_the_same_text_read_again_is_said_to_be_at_the_new_place():
    """Trees of short texts are kept; warnings, faults and places are each reader's own."""
    text = "SIN(TIME)+QWERTY(3)"
    for where in ("a.xml:1", "b.xml:7"):
        with pytest.raises(ExpressionError, match=rf"QWERTY.*{where}, column 11"):
            parse(text, where)
    for _ in range(2):
        with pytest.warns(PlantWarning, match="means degrees"):
            assert parse("30D+2*TIME").where == ""
