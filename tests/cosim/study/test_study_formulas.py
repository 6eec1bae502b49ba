"""The language of metrics and requirements, and its robustness beside RTAMT's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks import Constant, ExpressionError, Step
from cosim import Diagram, Study
from cosim.study.formulas import Logic, Temporal, names, parsed, value
from cosim.study.measures import requirement_formula
from cosim.study.robustness import largest, robustness, window
from cosim.study.study_schema import RequirementTable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 + 3*4", 14.0),
        ("-a.y^2", -9.0),
        ("2**3**2", 512.0),
        ("10 - 4 - 3", 3.0),
        ("a.y/b.y", 1.5),
        ("pi/b.y", math.pi / 2),
        ("max(a.y, b.y) - min(a.y, b.y)", 1.0),
        ("abs(-'odd name')", 7.0),
        ("'m.''a b''.w' - '''q'''", 4.0),
        ("sub/c.y[1] + t", 5.5),
        ("hypot(a.y, 4) + atan2(0, 1)", 5.0),
    ],
)
def test_values(text, expected):
    known = {"a.y": 3.0, "b.y": 2.0, "odd name": 7.0, "sub/c.y[1]": 5.0, "t": 0.5}
    known |= {"m.'a b'.w": 6.0, "'q'": 2.0}
    assert value(parsed(text), known.__getitem__) == pytest.approx(expected, rel=1e-15)


def test_names_of_a_formula():
    assert names(parsed("always[0, 1](a.y < b.y.theta) and sub/c.y[2] > t")) == [
        "a.y",
        "b.y.theta",
        "sub/c.y[2]",
    ]


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("abs(a.y < 1", 11, "expected ')'"),
        ("a.y <", 5, "expected a value at the end"),
        ("foo(a.y)", 0, "no function 'foo'"),
        ("a.y # 2", 4, "'#' is no part"),
        ("speed + 1", 0, "a signal is block.port"),
        ("a.y and b.y < 1", 0, "this is a number"),
        ("1 < a.y < 2", 0, "second comparison"),
        ("sqrt(a.y, 2)", 0, "sqrt takes 1 argument, got 2"),
        ("always[2, 1](a.y > 0)", 7, "before it begins"),
        ("max(max(a.y))", 4, "over a whole run already"),
        ("a.y < 1 b.y", 8, "'b.y' is not expected"),
        ("(a.y < 1) + 2", 1, "this is a condition"),
    ],
)
def test_mistakes_have_a_caret(text, column, says):
    with pytest.raises(ExpressionError, match=".") as error:
        parsed(text)
    assert says in str(error.value)
    assert str(error.value).splitlines()[-1] == "    " + " " * column + "^"


def test_windows_are_those_of_a_slow_search():
    generator = np.random.default_rng(0)
    values, time = generator.normal(size=(3, 40)), np.arange(40) * 0.1
    for begin, end in [(0, 1), (0.5, 0.5), (0.3, 9), (0, math.inf), (5, 6)]:
        first, last = window(time, begin, end)
        slow = [[max(row[first[k] : last[k]], default=-np.inf) for k in range(40)] for row in values]
        assert np.array_equal(largest(values, time, begin, end), slow)


def test_robustness_of_hand_made_signals():
    time, known = np.arange(5.0), {"a.y": np.array([[0.0, 1.0, 3.0, 2.0, 0.5]])}
    look = lambda f: np.broadcast_to(value(f, known.__getitem__), (1, 5))
    at_start = lambda text: float(robustness(parsed(text), time, look)[0, 0])
    assert at_start("always(a.y < 4)") == 1.0
    assert at_start("eventually[0, 1](a.y > 2)") == -1.0
    assert at_start("not (a.y > 1)") == 1.0
    assert at_start("always(a.y > 2.5 implies eventually[0, 2](a.y < 1))") == 0.5
    assert at_start("a.y < 2.5 until a.y > 2.8") == pytest.approx(0.2)
    assert at_start("a.y < 0.5 until a.y > 2.8") == -0.5


# --- beside RTAMT ---------------------------------------------------------------------------------------
ATOM = st.sampled_from(["(a <= 0.5)", "(b >= -0.2)", "(a >= b)", "(a + b <= 1)"])
WINDOW = st.tuples(st.integers(0, 3), st.integers(0, 4)).map(lambda w: (w[0], w[0] + w[1]))


def combined(inner):
    unary = st.tuples(st.sampled_from(["always", "eventually"]), WINDOW, inner).map(
        lambda p: f"({p[0]}[{p[1][0]}, {p[1][1]}]({p[2]}))"
    )
    plain = st.tuples(st.sampled_from(["always", "eventually"]), inner).map(lambda p: f"({p[0]}({p[1]}))")
    pair = st.tuples(inner, st.sampled_from(["and", "or", "implies"]), inner).map(
        lambda p: f"({p[0]} {p[1]} {p[2]})"
    )
    until = st.tuples(inner, WINDOW, inner).map(lambda p: f"({p[0]} until[{p[1][0]}, {p[1][1]}] {p[2]})")
    return st.one_of(unary, plain, pair, until, inner.map(lambda f: f"(not ({f}))"))


FORMULA = st.recursive(ATOM, combined, max_leaves=4)
SIGNAL = st.lists(st.integers(-8, 8).map(lambda v: v / 4), min_size=6, max_size=12)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, derandomize=True, database=None)
@given(FORMULA, SIGNAL, st.randoms(use_true_random=False))
def test_robustness_is_that_of_rtamt(text, a, chance):
    rtamt = pytest.importorskip("rtamt")
    b = [chance.randint(-8, 8) / 4 for _ in a]
    spec = rtamt.StlDiscreteTimeSpecification()
    spec.declare_var("a", "float")
    spec.declare_var("b", "float")
    spec.spec = text.replace("implies", "->").replace(", ", ":")
    spec.parse()
    time = list(range(len(a)))
    theirs = np.array([r for _, r in spec.evaluate({"time": time, "a": a, "b": b})])
    known = {"x.a": np.array([a]), "x.b": np.array([b])}
    ours_text = (
        text.replace("(a ", "(x.a ").replace("(b ", "(x.b ").replace(" b)", " x.b)").replace(" b ", " x.b ")
    )
    look = lambda f: np.broadcast_to(value(f, known.__getitem__), (1, len(a)))
    ours = robustness(parsed(ours_text), np.array(time, float), look)[0]
    assert np.allclose(ours, theirs, atol=1e-12), (ours, theirs)


@pytest.mark.parametrize(
    ("condition", "count", "duration"),
    [
        ("lamp.y > 0", 1, 1.0), ("lamp.y >= 0", 1, 2.0), ("lamp.y < 1", 1, 1.0), ("lamp.y <= 1", 1, 2.0),
        ("lamp.y == 1", 1, 1.0), ("lamp.y != 0", 1, 1.0),
        ("not (lamp.y > 0)", 1, 1.0), ("lamp.y < 0", 0, 0.0),
        ("lamp.y > 0 and off.y > 0", 0, 0.0), ("lamp.y > 0 or off.y >= 0", 1, 2.0),
        ("off.y > 0 implies lamp.y > 2", 1, 2.0),
    ],
)  # fmt: skip
def test_a_lamp_that_is_off_is_not_counted_as_on(condition, count, duration):
    d = Diagram("lamp")
    d.add("lamp", Step(time=1.0))
    d.add("off", Constant(0.0))
    metrics = {"n": f"count({condition})", "s": f"duration({condition})"}
    found = Study(d, until=2.0, log_every=0.125, metrics=metrics).case(0).measures
    assert found["n"] == count
    assert found["s"] == pytest.approx(duration, abs=1e-12)


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize(
    ("condition", "met"),
    [("off.y != 0", False), ("not (off.y == 0)", False), ("off.y == 0", True), ("lamp.y != 1", False)],
)  # fmt: skip
def test_unequal_is_broken_where_both_are_equal(condition, met, stop):
    d = Diagram("lamp")
    d.add("lamp", Step(time=1.0))
    d.add("off", Constant(0.0))
    requirements = [{"name": "r", "always": condition, "stop": stop}]
    found = Study(d, until=2.0, log_every=0.125, requirements=requirements).case(0).measures
    assert found["r"] == met
    assert (found["r.robustness"] >= 0) == met
    ends = 2.0 if met or not stop else 1.0 if "lamp" in condition else 0.0
    assert found["end_time"] == pytest.approx(ends, abs=1e-8)


def test_windows_may_say_their_unit():
    plain = parsed("always[0.2, 90](eventually[0, 0.25](a.y > 0)) and (a.y > 1 until[3600, end] a.y < 0)")
    said = "always[200 ms, 1.5 min](eventually[0 s, 250000us](a.y > 0)) and (a.y > 1 until[1 h, inf] a.y < 0)"
    assert parsed(said) == plain
    for text in ("always[0, 2 m](a.y > 0)", "always[inf, inf](a.y > 0)"):
        with pytest.raises(ExpressionError):
            parsed(text)


def test_whenever_is_always_that_something_follows():
    """From 1 s to 9 s, within 2 s of every instant at which a.y > 1; without `within` at any time later."""
    often, later = parsed("a.y > 1"), parsed("b.y > 2")
    for within, end in ((2.0, 2.0), (None, math.inf)):
        asked = RequirementTable(
            name="r", eventually=later, whenever=often, after=1.0, before=9.0, within=within
        )
        inner = Temporal(0, "eventually", (later,), 0.0, end)
        expected = Temporal(0, "always", (Logic(0, "implies", (often, inner)),), 1.0, 9.0)
        assert requirement_formula(asked) == expected
