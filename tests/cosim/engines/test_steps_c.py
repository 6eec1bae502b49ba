"""Where a derivative is copied into the steps in C, where it is called; the same bits either way."""

import numpy as np
import pytest

from blocks import Function, Integrator
from cosim import Diagram, simulate
from cosim.engines.codegen.model_c import ADAPTIVE, INLINE, generate
from cosim.engines.native import compiler
from tests.helpers.hybrid import same


def loop(terms: int) -> Diagram:
    """x' = sum of sin(k x) / k: three operations a term."""
    d = Diagram("loop")
    x = d.add("x", Integrator(1.0))
    f = d.add("f", Function(lambda u: -sum(np.sin((k + 1.5) * u) / (k + 1.5) for k in range(terms))))
    x["y"] >> f["u"]
    f["y"] >> x["u"]
    return d


def calls(d: Diagram) -> list[tuple[str, int]]:
    """Of every step the name by which it evaluates the derivative, and how often."""
    text = "".join(c.text for c in generate(d.system()).sources)
    steps = [part.partition("\n}\n")[0] for part in text.split("static int64_t step_")[1:]]
    names = ("derivative", "derivative_called")
    return [next((n, s.count(f" {n}(&s")) for n in names if f" {n}(&s" in s) for s in steps]


@pytest.mark.parametrize(
    ("terms", "adaptive", "copied"),
    [(3, "derivative", True), (40, "derivative_called", True), (200, "derivative", False)],
)
def test_adaptive_steps_call_what_fixed_ones_copy(terms, adaptive, copied):
    assert ADAPTIVE < 3 * 40 < INLINE < 3 * 200
    d = loop(terms)
    assert calls(d) == [("derivative", 1), ("derivative", 4), (adaptive, 6)]
    text = "".join(c.text for c in generate(d.system()).sources)
    assert ("PL_INLINE void derivative(" in text) == copied


@pytest.mark.parametrize("options", [{}, {"solver": "rk4", "step": 0.01}])
def test_what_is_called_gives_the_same_bits(options):
    try:
        compiler.find()
    except compiler.CompilerError as missing:  # pragma: no cover
        pytest.skip(f"no C compiler: {missing}")
    d = loop(40)
    reference, native = (simulate(d, 2.0, engine=engine, **options) for engine in ("reference", "native"))
    same(reference, native)
    assert abs(reference["x.y"][-1, 0] - 1.0) > 1e-3
