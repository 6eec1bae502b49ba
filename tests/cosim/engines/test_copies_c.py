"""Loops over copies give the bits of CasADi's virtual machine, whatever the numbers, however many at once."""

import casadi as ca
import numpy as np
import pytest

from cosim.engines.codegen import copies as sharing
from cosim.engines.codegen import copies_c, planner, print_c
from cosim.engines.native import compiler
from tests.cosim.engines.test_print_c import AWKWARD, ONE, TWO
from tests.helpers.printed import printed, same, symbols

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)

N = 61  # copies: no multiple of what any register holds
NUMBERS = np.array((AWKWARD * 5)[:N])


@pytest.fixture
def shared(monkeypatch):
    """Copies are looked for in small functions too."""
    monkeypatch.setattr(planner, "SMALL", 0)
    monkeypatch.setattr(sharing, "FEW", 0)


def written(pieces):
    return "".join(print_c.piece(p, []) for p in pieces)


@pytest.mark.slow
def test_every_operation_in_a_loop(tmp_path, shared):
    t, x, h, w, p = symbols(N, N, 0, 1)
    rows = [f(x[i]) for f in ONE.values() for i in range(N)]
    rows += [f(x[i], h[i]) for f in TWO.values() for i in range(N)]
    f = ca.Function("f", [t, x, h, w, p], [ca.densify(ca.vertcat(*rows))])
    call, pieces = printed(f, tmp_path)
    assert "for (int i = 0;" in written(pieces) and "pl_shape" not in written(pieces)
    for shift in range(0, len(AWKWARD), 4):
        others = np.roll(NUMBERS, shift)
        expected = np.array(f(0.1, NUMBERS, others, [], [0.0])).ravel()
        assert same(expected, call(0.1, NUMBERS, others, [], [0.0])), shift


@pytest.mark.parametrize("far", [0, 1, 3, -2])
def test_how_far_copies_lie_apart(tmp_path, shared, far):
    """Places that stand still, go up, skip others, and go down; uneven ones have a table."""
    t, x, h, w, p = symbols(3 * N, 1, 0, N)
    start = 2 * N if far < 0 else 0
    rows = [ca.if_else(x[start + far * i] > p[i], x[start + far * i] * 2.5, p[i]) / 3.0 for i in range(N)]
    rows += [ca.if_else(x[i * i % (3 * N)] > p[i], x[i * i % (3 * N)] * 2.5, p[i]) / 3.0 for i in range(N)]
    f = ca.Function("f", [t, x, h, w, p], [ca.densify(ca.vertcat(*rows))])
    call, pieces = printed(f, tmp_path)
    assert "static const int32_t q" in written(pieces)
    draw = np.random.default_rng(1)
    for _ in range(3):
        arguments = [0.1, draw.normal(size=3 * N), [0.0], [], draw.normal(size=N)]
        assert same(np.array(f(*arguments)).ravel(), call(*arguments))


def test_long_shapes_are_written_once(tmp_path, shared):
    t, x, h, w, p = symbols(N, 1, 0, 1)
    rows = [x[i] for i in range(N)]
    for k in range(copies_c.SHORT + 3):
        rows = [ca.sin(r) * (0.5 + k) for r in rows]
    f = ca.Function("f", [t, x, h, w, p], [ca.vertcat(*rows)])
    call, pieces = printed(f, tmp_path)
    assert "for (int i" not in written(pieces)
    x0 = np.linspace(-1, 1, N)
    assert same(np.array(f(0.1, x0, [0.0], [], [0.0])).ravel(), call(0.1, x0, [0.0], [], [0.0]))
