"""What of an FMU in a diagram can be named in a run: fields, start values, signals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from blocks import Constant
from blocks.errors import PlantloopError
from cosim import FMU, Diagram, Simulation, simulate, simulate_many
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler


def around(fmu: FMU, value: float = 1.0) -> Diagram:
    d = Diagram("around")
    d.add("m", fmu)
    d.connect(d.add("u", Constant(value))["y"], f"m.{fmu.input_variables[0].name}")
    return d


@pytest.mark.parametrize("coupling", [None, "jacobi"])
def test_fields_are_parameters_for_which_it_is_built_anew(coupling: str | None) -> None:
    """`calls` counts steps: each communication step is made in pieces of `most` = 0.03 s at most."""
    d = around(FMU(build_fmu("partial"), sample=0.1))
    run = lambda **p: simulate(d, 0.6, coupling=coupling, engine="reference", parameters=p)
    assert run(**{"m.sample": 0.02})["m.calls"][-1, 0] == 30
    assert run(**{"m.sample": 0.3, "m.most": 0.1})["m.calls"][-1, 0] == 6
    with pytest.raises(PlantloopError, match="no parameter 'm.inner_step'"):  # of the unit that is its deputy
        run(**{"m.inner_step": 0.1})
    cases = [{"parameters": {"m.sample": h}} for h in (0.02, 0.03)]
    many = simulate_many(d, cases, 0.6, engine="reference", coupling=coupling)
    assert many["m.calls"][:, -1, 0].tolist() == [30, 20]


def test_a_variable_that_is_called_like_a_field_is_the_variable() -> None:
    """y(1) = 1 - exp(-1 / T), with T called `offset`."""
    d = around(FMU(build_fmu("lag", change=lambda text: text.replace('"T"', '"offset"')), sample=0.1))
    expected = pytest.approx(1 - math.exp(-2), abs=1e-7)
    assert simulate(d, 1.0, engine="reference", parameters={"m.offset": 0.5})["m.y"][-1, 0] == expected
    changed = d.with_parameters(**{"m.offset": 0.5})
    assert simulate(changed, 1.0, engine="reference")["m.y"][-1, 0] == expected


@pytest.mark.parametrize("kind", ["cs", "me"])
def test_sizes_are_parameters_for_which_it_is_built_anew(kind: str) -> None:
    """x' = A x + B u with A = 1, B = 1 and u = 1: x(1) = e - 1; y = x + u."""
    path = build_fmu("statespace", version="3.0")
    d = around(FMU(path, kind=kind, sample=0.1 if kind == "cs" else None, start={"m": 1, "u": [1.0]}))
    sizes = {"m.n": 1, "m.r": 2, "m.A": 1.0, "m.C": [[1.0], [2.0]], "m.D": [[1.0], [0.0]], "m.B": 1.0}
    r = simulate(d, 1.0, engine="reference", parameters=sizes)
    np.testing.assert_allclose(r["m.y"][-1], [math.e, 2 * (math.e - 1)], rtol=1e-6)
    with Simulation(d, engine="reference") as sim:
        sim.advance(0.1)
        with pytest.raises(PlantloopError, match=r"'m.n' in 'around' cannot be set.*start=\{'n': \.\.\.\}"):
            sim.set_parameter("m.n", 2)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize(("kind", "coupling"), [("me", None), ("cs", None), ("cs", "jacobi")])
def test_what_only_the_equations_need_is_no_signal(version: str, kind: str, coupling: str | None) -> None:
    d = Diagram("bouncing")
    d.add("m", FMU(build_fmu("ball", version=version), kind=kind, sample=0.1 if kind == "cs" else None))
    r = simulate(d, 0.1, coupling=coupling, engine="reference", signals=["m.*"])
    parameters, states = {"m.e", "m.g", "m.v_min", "m.resting"}, {"m.h", "m.v"}
    assert set(r.signals) == parameters | states | {"m.bounces"}
    with pytest.raises(PlantloopError, match="no state"):
        simulate(d, 0.1, coupling=coupling, initial={"m.y": 1.0, "m.count@event": 1.0})
