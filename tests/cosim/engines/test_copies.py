"""Copies of one computation share a C function, and give the bits they gave apart."""

import re

import casadi as ca
import numpy as np
import pytest

from blocks import Constant, DiscreteStateSpace, Function, Gain, Integrator, Saturation, Sum
from cosim import Diagram, Simulation, simulate
from cosim.engines.codegen import copies as sharing
from cosim.engines.codegen import model_c, planner
from cosim.engines.codegen.model_c import generate
from cosim.engines.codegen.plan import Shared
from cosim.engines.native import compiler
from tests.helpers.printed import printed, same, symbols

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)

SHAPES = [lambda u, a=a: np.sin(a * u) + u * u / (1.0 + a + u * u) for a in np.linspace(0.1, 2.0, 12)]


LARGE = 4000  # blocks; operations of so many are shared


def cells(n, seed=0):
    """A diagram of n blocks in at most fifteen shapes, wired at random."""
    draw = np.random.default_rng(seed)
    d = Diagram("cells")
    ends = [d.add("start", Constant(0.1))["y"]]
    for k in range(n // 5):
        total, state = d.add(f"total{k}", Sum("+-")), d.add(f"state{k}", Integrator(float(draw.normal())))
        shape = d.add(f"shape{k}", Function(SHAPES[draw.integers(len(SHAPES))]))
        last = [Gain(float(draw.normal())), Saturation(-0.5, 0.5)][k % 2]
        end = d.add(f"end{k}", last)
        lag = d.add(f"lag{k}", DiscreteStateSpace(0.5, 0.3, 1.0, sample=0.01 * (1 + k % 2)))
        ends[draw.integers(len(ends))] >> total["in1"]
        state["y"] >> total["in2"]
        total["y"] >> state["u"]
        state["y"] >> shape["u"]
        shape["y"] >> end["u"]
        end["y"] >> lag["u"]
        ends += [end["y"], lag["y"]]
    return d


def code(d):
    """(operations printed, shared functions, C files) of a diagram."""
    found = generate(d.system())
    text = "".join(s.text for s in found.sources)
    return found.note["operations"], text.count("void pl_shape"), found.sources


@pytest.mark.slow
def test_each_file_declares_the_loops_it_calls(monkeypatch):
    """Compilers since gcc 14 and clang 16 refuse calls of functions they have not seen."""
    monkeypatch.setattr(planner, "SMALL", 2000)
    monkeypatch.setattr(model_c, "FILE", 1)  # every function in a file of its own
    sources = code(cells(1500))[2]
    calls = 0
    for source in sources:
        for name in set(re.findall(r"(?<!void )\bpl_shape\d+(?=\()", source.text)):
            assert f"void {name}(" in source.text[: source.text.index(f"    {name}(")], source.name
            calls += 1
    assert calls > 0


@pytest.fixture(scope="module")
def d():
    """Flattened and compiled once."""
    return cells(LARGE)


@pytest.mark.slow
def test_code_does_not_grow_with_the_number_of_copies(d):
    operations, functions, _ = code(d)
    assert functions > 0, "nothing is shared"
    assert operations < LARGE / 10  # printed: one for ten blocks
    assert functions <= 4 * 100  # at most a hundred functions, each declared in every file


@pytest.mark.slow
def test_shared_code_gives_the_bits_of_the_reference_engine(d):
    settings = {"solver": "rk4", "step": 1e-3, "log_every": 0.005}
    one, two = (simulate(d, 0.02, engine=e, **settings) for e in ("native", "reference"))
    for name in ("shape7.y", "end799.y", "lag100.y", "state298.y"):
        assert same(one[name], two[name]), name


@pytest.mark.slow
def test_one_signal_needs_only_what_it_depends_on(d):
    """The pieces that make it: those it was chosen with give what all together give."""
    every = simulate(d, 0.03, engine="native", solver="rk4", step=1e-3, log_every=0.01)
    for name in ("shape11.y", "end250.y", "lag399.y", "start.y"):
        alone = simulate(d, 0.03, engine="native", solver="rk4", step=1e-3, log_every=0.01, signals=[name])
        assert same(alone[name], every[name]), name


@pytest.mark.slow
def test_parameters_and_initial_values_of_copies_are_their_own(d):
    changed = {"end0.k": 3.0, "end200.k": -2.0}
    one, two = (
        Simulation(d, engine=e, solver="rk4", step=1e-3, parameters=changed, initial={"state3.x": 0.7})
        for e in ("native", "reference")
    )
    for sim in (one, two):
        sim.advance(0.02)
    assert same(one.snapshot().x, two.snapshot().x)
    assert same(one.snapshot().h, two.snapshot().h)


@pytest.mark.parametrize("copies", [2, 12, 40, 300])
def test_few_and_many_copies(tmp_path, monkeypatch, copies):
    """Copies that read from different arrays, differ in numbers, put out what they make, or are read."""
    monkeypatch.setattr(planner, "SMALL", 0)
    monkeypatch.setattr(sharing, "FEW", 0)
    monkeypatch.setattr(planner, "ROWS", 7)
    t, x, h, w, p = symbols(copies, copies, 2, copies)
    first = [ca.sin(x[i] * p[i]) + t for i in range(copies)]
    second = [ca.sin([h[i], w[i % 2], x[i], first[i - 1]][i % 4] * p[i]) + t for i in range(copies)]
    third = [ca.fmax(a, b) / 3.0 for a, b in zip(first, reversed(second), strict=True)]
    own = [ca.cos(x[i] + 0.1 * i) * (2.5 + i) - [x, h][i % 2][i] for i in range(copies)]
    f = ca.Function("f", [t, x, h, w, p], [ca.vertcat(*second, *third, *own, *first[:3], x[0], p[0], 2.0)])
    call, pieces = printed(f, tmp_path)
    shared = [
        c
        for piece in pieces
        if isinstance(piece, Shared)
        and not piece.name.startswith(planner.PREPARE)  # puts parameters in order
        for c in piece.copies
    ]
    assert bool(shared) == (copies > 12)  # twelve are three or four of each: they read from different arrays
    assert any(c.numbers for c in shared) == (copies > 12)
    rng = np.random.default_rng(3)
    for _ in range(3):
        arguments = [rng.normal(size=n) for n in (copies, copies, 2, copies)]
        assert same(np.array(f(0.1, *arguments)).ravel(), call(0.1, *arguments))
