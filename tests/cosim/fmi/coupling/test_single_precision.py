"""Iterated steps of units that round their inputs to single precision."""

import numpy as np
import pytest

from blocks import Gain
from cosim import Coupling, Diagram, simulate
from cosim.fmi import FMU
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    return build_fmu("single", tmp_path_factory.mktemp("fmus"), version="3.0")


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("iterate", [True, "newton"])
def test_inputs_of_single_precision_settle(unit, iterate, engine):
    """T x' = u - x with u held at its end value: x_new = u + (x - u) exp(-h/T), which is solved by hand.

    The units round u to 24 bits, so that what they deliver takes turns between neighbouring numbers.
    """
    d, h, k, T = Diagram("turns"), 0.1, 2.3, np.array([0.5, 1 / 3])
    for name, constant in zip("ab", T.tolist(), strict=True):
        d.add(name, FMU(unit, kind="cs", sample="1/10", start={"T": constant, "x": 1.0}))
    d.add("k", Gain(-k))
    d.connect("b.y -> k.u", "k.y -> a.u", "a.y -> b.u")
    r = simulate(d, 2.0, log_every=h, coupling=Coupling(iterate=iterate), engine=engine)
    left, reads = np.exp(-h / T), np.array([[0.0, -k], [1.0, 0.0]])
    step = np.linalg.solve(np.eye(2) - np.diag(1.0 - left) @ reads, np.diag(left))
    exact = [np.linalg.matrix_power(step, n) @ [1.0, 1.0] for n in range(21)]
    assert np.hstack([r["a.y"], r["b.y"]]) == pytest.approx(np.array(exact), abs=2e-6)
