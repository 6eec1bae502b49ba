"""Random diagrams: the flat system does what a slow, plain interpreter of the rules of time does."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import cosim
from blocks import (
    AlgebraicLoopError,
    Block,
    Clock,
    Constant,
    Demux,
    DiscreteIntegrator,
    DiscretePID,
    DiscreteStateSpace,
    Function,
    Gain,
    Hold,
    Integrator,
    Mux,
    Pulse,
    PythonFunction,
    RateTransition,
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
    WiringError,
)
from cosim import Diagram
from tests.helpers.runs import simulate
from tests.helpers.slow import Slow

GRID = Fraction(1, 20)  # s; all ticks and instants fall on it
RATES = [
    (Fraction(p, 20), Fraction(o, 20)) for p, o in ((1, 0), (2, 0), (2, 1), (4, 0), (4, 2), (6, 1), (5, 0))
]
numbers = st.sampled_from([-1.5, -1.0, -0.4, 0.3, 0.5, 1.0, 2.0])
rates = st.sampled_from(RATES)
widths = st.sampled_from([1, 2])

Made = tuple[Block, dict[str, int], dict[str, int]]  # a block, and the sizes of its inputs and outputs


def vector(draw: Callable, n: int) -> list[float]:
    return [draw(numbers) for _ in range(n)]


def sourced(draw: Callable) -> Made:
    n = draw(widths)
    sample, offset = draw(rates)
    block = draw(st.sampled_from([
        Constant(vector(draw, n)),
        Sine(vector(draw, n), 3.0),
        Sine(vector(draw, n), 3.0, sample=sample, offset=offset),
        Step(Fraction(draw(st.integers(0, 12)), 20), 0.5, vector(draw, n)),
        Pulse(vector(draw, n), Fraction(3, 10), Fraction(1, 3), Fraction(1, 20)),
        TimeTable([0.05, 0.2, 0.45], np.outer([0.3, 1.0, -1.0], np.ones(n))),
    ]))  # fmt: skip
    return block, {}, {"y": n}


def clock(draw: Callable) -> Made:
    return Clock(), {}, {"y": 1}


def elementwise(draw: Callable) -> Made:
    n = draw(widths)
    block = draw(st.sampled_from([
        Gain(draw(numbers)), Gain(vector(draw, n)), Saturation(-0.7, 0.8), Function(np.sin),
    ]))  # fmt: skip
    return block, {"u": n}, {"y": n}


def matrix(draw: Callable) -> Made:
    n, m = draw(widths), draw(widths)
    k = [[draw(st.sampled_from([0.0, 0.0, 0.5, -1.0])) for _ in range(m)] for _ in range(n)]
    return Gain(k), {"u": m}, {"y": n}


def summed(draw: Callable) -> Made:
    n = draw(widths)
    return Sum(draw(st.sampled_from(["+-", "++", "-+"]))), {"in1": n, "in2": n}, {"y": n}


def muxed(draw: Callable) -> Made:
    return Mux(2), {"in1": 1, "in2": 1}, {"out": 2}


def demuxed(draw: Callable) -> Made:
    return Demux(2), {"in": 2}, {"out1": 1, "out2": 1}


def selected(draw: Callable) -> Made:
    chosen = draw(st.sampled_from([[0], [1], [1, 0]]))
    return Selector(chosen), {"in": 2}, {"out": len(chosen)}


def continuous(draw: Callable) -> Made:
    n = draw(widths)
    lag = StateSpace(-np.eye(n), np.eye(n), [[1.0, -0.5][:n], [0.0, 1.0][:n]][:n], initial=draw(numbers))
    blocks = [Integrator(vector(draw, n)), lag]
    if n == 1:
        blocks += [TransferFunction([1.0, 0.5], [1.0, 1.0, 2.0]), TransferFunction([1.0, 0.5], [1.0, 2.0])]
    return draw(st.sampled_from(blocks)), {"u": n}, {"y": n}


def sampled(draw: Callable) -> Made:
    n = draw(widths)
    sample, offset = draw(rates)
    at = {"sample": sample, "offset": offset}
    block = draw(st.sampled_from([
        UnitDelay(**at, initial=vector(draw, n)),
        Hold(draw(st.integers(0, 2)), **at, initial=draw(numbers)),
        RateTransition(**at),
        DiscreteIntegrator(**at, method=draw(st.sampled_from(["forward", "backward", "trapezoidal"]))),
        DiscreteStateSpace(0.5 * np.eye(n), np.eye(n), np.eye(n), draw(numbers) * np.eye(n), **at),
        Function(np.tanh, **at),
        PythonFunction(lambda t, u: np.cos(u) + t, n, n, **at),
    ]))  # fmt: skip
    return block, {"u": n}, {"y": n}


def control(draw: Callable) -> Made:
    sample, offset = draw(rates)
    at = {"sample": sample, "offset": offset}
    if draw(st.booleans()):
        return StateFeedback([vector(draw, 2)], **at), {"x": 2}, {"u": 1}
    return DiscretePID(0.5, 0.4, 0.02, **at, low=-1.0, high=1.2), {"e": 1}, {"u": 1}


KINDS = [sourced, clock, matrix, summed, muxed, demuxed, selected, control]
KINDS += [elementwise] * 2 + [continuous] * 2 + [sampled] * 3


@st.composite
def diagrams(draw: Callable, anyhow: bool = False) -> tuple[Diagram, dict[str, dict[str, int]]]:
    """A diagram and the sizes of all inputs; wired `anyhow` it may have loops, else seldom."""
    kinds = [draw(st.sampled_from(KINDS)) for _ in range(draw(st.integers(2, 7)))]
    made = {f"b{k}": kind(draw) for k, kind in enumerate(kinds)}
    made |= {"one": (Constant(0.7), {}, {"y": 1}), "two": (Constant([0.2, -0.3]), {}, {"y": 2})}
    order = draw(st.permutations(list(made)))
    d = Diagram("d")
    for name in order:
        d.add(name, made[name][0])
    sizes = {name: inputs for name, (_, inputs, _) in made.items()}
    outputs = [(name, port, size) for name, (_, _, ports) in made.items() for port, size in ports.items()]
    for name in made:
        for port, size in sizes[name].items():
            fits = [(a, p) for a, p, s in outputs if s == size]
            if not anyhow and not isinstance(made[name][0], (Integrator, UnitDelay, StateSpace)):
                fits = [(a, p) for a, p in fits if a in ("one", "two") or a < name]
            source, source_port = draw(st.sampled_from(fits))
            d.connect(f"{source}.{source_port}", f"{name}.{port}")
    return d, sizes


def examples(n: int) -> settings:
    """The same n examples in every run."""
    return settings(max_examples=n, deadline=None, derandomize=True, database=None,
                    suppress_health_check=list(HealthCheck))  # fmt: skip


@pytest.mark.slow
@examples(60)
@given(diagrams(), st.sampled_from(["rk4", "euler"]))
def test_the_flat_system_is_what_evaluating_block_by_block_gives(drawn, method):
    d, sizes = drawn
    until = Fraction(13, 20)
    at = [float(k * GRID) for k in range(14)]
    expected = Slow(d, sizes).run(until, GRID, method, 0.05)
    r = simulate(d, float(until), solver=method, step=0.05, log_at=at)
    event(f"rates: {len(r.statistics['ticks'])}")
    assert set(r) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(r[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.slow
@examples(150)
@given(diagrams(anyhow=True))
def test_a_loop_is_found_exactly_where_something_depends_on_itself(drawn):
    d, sizes = drawn
    try:
        d.system()
        refused = False
    except AlgebraicLoopError:
        refused = True
    except WiringError:  # a loop that took size one, read by a block of size two
        return
    event(f"refused: {refused}")
    assert refused == Slow(d, sizes).has_loop(GRID)


@pytest.mark.slow
@examples(30)
@given(diagrams(anyhow=True))
def test_what_is_not_refused_runs_right_however_it_is_wired(drawn):
    d, sizes = drawn
    try:
        d.system()
    except (AlgebraicLoopError, WiringError):
        return
    until = Fraction(8, 20)
    expected = Slow(d, sizes).run(until, GRID, "euler", 0.05)
    r = simulate(d, float(until), solver="euler", step=0.05, log_at=[float(k * GRID) for k in range(9)])
    for name, values in expected.items():
        np.testing.assert_allclose(r[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.slow
@examples(30)
@given(diagrams(), st.randoms(use_true_random=False))
def test_inside_a_subsystem_a_part_of_a_diagram_does_what_it_does_outside(drawn, random):
    """Half of the blocks move into a subsystem; the connections that cross its border become ports."""
    d, _ = drawn
    graph = d.graph
    inside = {name for name in graph if random.random() < 0.5}
    part, whole = Diagram("part"), Diagram("whole")
    for name, block in graph.nodes(data="block"):
        (part if name in inside else whole).add(name, block)
    handle = whole.add("part", part)
    for k, (a, b, ports) in enumerate(graph.edges(data=True)):
        source, target = f"{a}.{ports['source']}", f"{b}.{ports['target']}"
        if a in inside and b in inside:
            part.connect(source, target)
        elif b in inside:
            part.connect(part.inport(f"i{k}"), target)
            whole.connect(source, handle[f"i{k}"])
        elif a in inside:
            part.outport(f"o{k}", source)
            whole.connect(handle[f"o{k}"], target)
        else:
            whole.connect(source, target)
    options = {"solver": "rk4", "step": 0.02, "log_every": 0.013}
    alone, nested = simulate(d, 0.4, **options), simulate(whole, 0.4, **options)
    for name in alone:
        path = f"part/{name}" if name.partition(".")[0] in inside else name
        np.testing.assert_allclose(nested[path], alone[name], rtol=1e-12, atol=1e-13, err_msg=name)


@pytest.mark.slow
@examples(15)
@given(diagrams(), st.sampled_from(["rk4", "euler"]))
def test_both_engines_give_the_same(drawn, method):
    """Bit for bit with fixed steps, closely with adaptive ones; compiled code calls Python blocks."""
    d, _ = drawn
    runs = [
        cosim.simulate(d, 0.65, solver=method, step=0.02, log_every=0.013, engine=engine)
        for engine in ("reference", "auto")
    ]
    assert [r.settings["engine"].value for r in runs] == ["reference", "native"]
    for name in runs[0]:
        assert np.array_equal(runs[0][name], runs[1][name]), name
    for name in runs[0].ticks_of:
        assert np.array_equal(runs[0].ticks(name).values, runs[1].ticks(name).values), name
    adaptive = [cosim.simulate(d, 0.65, log_every=0.013, engine=engine) for engine in ("reference", "auto")]
    for name in adaptive[0]:
        np.testing.assert_allclose(adaptive[1][name], adaptive[0][name], rtol=1e-7, atol=1e-8, err_msg=name)
