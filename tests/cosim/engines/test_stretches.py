"""Stretches of code that repeat share a C function; the order of operations and all bits stay."""

import casadi as ca
import numpy as np
import pytest

from benchmarks.four_bars import deck
from cosim import Diagram, simulate
from cosim.engines.codegen import planner, stretches
from cosim.engines.codegen.model_c import generate
from cosim.engines.codegen.plan import Plain, Shared
from cosim.engines.codegen.planner import planned
from cosim.engines.native import compiler
from plant import Plant
from tests.helpers.printed import printed, same, symbols

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)

LINKS = 40


def chain(n, odd=()):
    """A recursion over n equal links, forth and back; `odd` ones are something else, two call a function."""
    t, x, h, w, p = symbols(n, n, 2, n)
    m = ca.MX.sym("m", 2)
    g = ca.Function("g", [m], [ca.vertcat(m[0] * m[1], ca.sin(m[0]) - m[1])])
    carried, kept = ca.SX(1.0), []
    for k in range(n):
        c, s = ca.cos(x[k]), ca.sin(x[k])
        if k in odd:
            c = ca.exp(-c) + t
        if k in (n // 3, n // 2):
            c = g.call([ca.vertcat(c, s)], False, True)[0][1]
        turned = c * carried - (0.1 + k / 7) * s * h[k] + p[k]
        stiff = 1 / (turned * turned + 3.0)
        carried = stiff * (turned + w[k % 2]) + c * s * p[k] * p[k]
        kept.append((c, s, turned, stiff))
    back, found = ca.SX(0.5), []
    for c, s, turned, stiff in reversed(kept):
        back = (back * c + turned * s) * stiff + 2.0 * t
        found += [back, back * s - turned]
    return ca.Function("f", [t, x, h, w, p], [ca.vertcat(*found, carried, x[0], 7.0)])


def operations(pieces):
    """Plain operations, and those done by rows of tables."""
    plain = sum(len(p.steps) for p in pieces if isinstance(p, Plain))
    tables = [c for p in pieces if isinstance(p, Shared) for c in p.copies]
    return plain, sum(len(c.shape.operations) * len(c.places) for c in tables)


@pytest.mark.parametrize("odd", [(), (7, 20, 31)])
@pytest.mark.parametrize("piece", [20, 300])
def test_repeated_stretches_give_casadis_bits(tmp_path, monkeypatch, odd, piece):
    """Also where a link in between is another, functions are called, and numbers differ from link to link."""
    monkeypatch.setattr(planner, "LONG", 0)
    monkeypatch.setattr(planner, "PIECE", piece)
    f = chain(LINKS, odd)
    call, pieces = printed(f, tmp_path)
    plain, repeated = operations(pieces)
    assert repeated > 200 and (odd or repeated > plain), (plain, repeated)
    assert any(c.numbers for p in pieces if isinstance(p, Shared) for c in p.copies)
    rng = np.random.default_rng(8)
    for _ in range(3):
        arguments = [rng.normal(size=n) for n in (LINKS, LINKS, 2, LINKS)]
        assert same(np.array(f(0.3, *arguments)).ravel(), call(0.3, *arguments))


@pytest.mark.parametrize("n", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_long_code_is_mostly_tables(monkeypatch, n):
    monkeypatch.setattr(planner, "LONG", 0)
    body = planned(chain(n), ["f"])[0].functions["f"]
    plain, repeated = operations(body.pieces)
    code = plain + sum(len(s.operations) for s in body.shapes)
    assert code < 0.4 * (plain + repeated)


def test_neighbours_that_follow_each_other_are_joined():
    """a b c c, ten times, then c: about one stretch for four, and none across the end of the code."""
    kinds = np.array([0, 1, 2, 2] * 10 + [2, 3], dtype=np.int64)
    sizes = np.where(np.arange(len(kinds)) == len(kinds) - 1, stretches.LONGEST, 20)
    found = stretches._pairs_joined(kinds, sizes)
    assert len(found) <= 15
    assert found[0] == 0
    assert len(kinds) - 1 in found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::plant.reporting.PlantWarning")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_mechanism_in_stretches_moves_as_on_the_reference_engine(monkeypatch, coordinates):
    monkeypatch.setattr(planner, "LONG", 0)
    monkeypatch.setattr(stretches, "COPIES", 3)
    d = Diagram("four bars")
    d.add("plant", Plant.read(deck(7), coordinates=coordinates))
    sources = generate(d.system()).sources
    assert "void pl_shape" in "".join(c.text for c in sources)
    called = "".join(c.text for c in sources if c.name.startswith("copies"))
    assert "(a, out, q0" in called and "PL_WIDE" not in called  # nothing there is done several at once
    settings = {"solver": "rk4", "step": 0.05, "log_every": 0.05}
    one, two = (simulate(d, 0.5, engine=e, **settings)["plant.tops"] for e in ("native", "reference"))
    assert same(one, two)
