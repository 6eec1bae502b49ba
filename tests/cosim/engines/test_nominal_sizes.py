"""Nominal sizes of states that follow parameters: filters of any cutoff are exact, on both engines."""

from __future__ import annotations

import re
import zipfile

import numpy as np
import pytest
from scipy import signal
from scipy.linalg import expm

from blocks import BlockError, Constant, Gain, LeadLag, PlantloopError, StateSpace, Step, TransferFunction
from cosim import Diagram, Simulation, simulate, simulate_many
from cosim.engines.methods.tolerances import nominal_sizes
from cosim.fmi import FMU, export_fmu
from plant import Plant
from plant.elements import (
    Control_PlantInput,
    Control_PlantOutput,
    Control_SISO,
    Control_StateEqn,
    Reference_Array,
    Reference_Matrix,
    Reference_Variable,
)
from tests.helpers.hybrid import same
from tests.helpers.made import alone
from tests.helpers.runs import build
from tests.helpers.slider import on_rail

ENGINES = ("reference", "native")
TIMES = np.linspace(0.0, 12.0, 13)  # over the cutoff


def step_response(num, den):
    """Of a filter with a cutoff of 1 rad/s, at TIMES, by the matrix exponential."""
    A, B, C, D = signal.tf2ss(num, den)
    n = len(A)
    whole = np.block([[A, B], [np.zeros((1, n + 1))]])
    return np.array([(C @ expm(whole * t)[:n, n:] + D).item() for t in TIMES])


def low_pass(order, w, gain=1.0):
    num, den = signal.butter(order, w, analog=True)
    return TransferFunction(gain * num, den)


def driven(block):
    return build("u.y>f.u", u=Step(time=0.0), f=block)


def ends(d, w, name="f.y", **options):
    return simulate(d, TIMES[-1] / w, log_at=TIMES / w, **options)[name].ravel()


# --- exact ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("order", "w", "gain"), [(1, 1e9, 1.0), (2, 1e6, 1e-12), (4, 1e8, 1.0), (6, 1e9, 1e6)]
)
def test_a_low_pass_in_canonical_form(order, w, gain, engine):
    """1e-1 off with an absolute tolerance that is the same for all states."""
    expected = gain * step_response(*signal.butter(order, 1.0, analog=True))
    found = ends(driven(low_pass(order, w, gain)), w, engine=engine)
    assert np.abs(found - expected).max() < 5e-9 * gain


@pytest.mark.parametrize("solver", ["rodas4", "BDF", "LSODA", "Radau"])
def test_every_method(solver):
    expected = step_response(*signal.butter(3, 1.0, analog=True))
    assert np.abs(ends(driven(low_pass(3, 1e7)), 1e7, solver=solver) - expected).max() < 1e-6


@pytest.mark.parametrize("form", ["controller", "observer", "scaled"])
def test_realisations_of_one_system(form):
    w = 1e6
    A, B, C, D = signal.tf2ss(*signal.butter(3, w, analog=True))
    if form == "observer":
        A, B, C = A.T, C.T, B.T
    if form == "scaled":
        s = np.array([1e3, 1e-9, 1e-15])
        A, B, C = A * s[:, None] / s, B * s[:, None], C / s
    expected = step_response(*signal.butter(3, 1.0, analog=True))
    assert np.abs(ends(driven(StateSpace(A, B, C, D)), w) - expected).max() < 2e-8


def test_a_resonance_with_little_damping():
    """Damping ratio 1e-4: y = 1 - exp(-z w t) (cos(wd t) + z/sqrt(1 - z^2) sin(wd t))."""
    w, z = 1e6, 1e-4
    found = ends(driven(TransferFunction([w * w], [1.0, 2 * z * w, w * w])), w)
    wd, t = np.sqrt(1 - z * z), TIMES
    expected = 1 - np.exp(-z * t) * (np.cos(wd * t) + z / np.sqrt(1 - z * z) * np.sin(wd * t))
    assert np.abs(found - expected).max() < 5e-8


def test_in_series_in_parallel_and_inside_subsystems():
    w = 1e6
    inner = Diagram("inner")
    inner.add("f", low_pass(2, w, 1e-9))
    inner.connect(inner.inport("u"), inner["f"]["u"])
    inner.outport("y", inner["f"]["y"])
    d = build("u.y>slow.u u.y>part.u part.y>g.u", u=Step(time=0.0), slow=low_pass(2, 1.0), part=inner,
              g=Gain(1e9))  # fmt: skip
    expected = step_response(*signal.butter(2, 1.0, analog=True))
    assert np.abs(ends(d, w, "g.y") - expected).max() < 5e-9
    assert np.abs(ends(d, 1.0, "slow.y", solver="rodas4") - expected).max() < 2e-8


@pytest.mark.parametrize("kind", ["siso", "state equation"])
def test_in_a_plant(kind):
    w = 1e6
    num, den = signal.butter(2, w, analog=True)
    arrays = [
        Reference_Array(id=1, type="U", variable_id=(1,)),
        Reference_Array(id=2, type="X", num_element=2),
        Reference_Array(id=3, type="Y", num_element=1),
    ]
    places = {"id": 1, "label": "f", "x_array_id": 2, "y_array_id": 3, "u_array_id": 1}
    if kind == "siso":
        element = Control_SISO(**places, numerator_coef=(w * w,), denominator_coef=tuple(den[::-1]))
    else:
        A, B, C, _ = signal.tf2ss(num, den)
        for k, M in enumerate((A, B, C)):
            arrays.append(Reference_Matrix(id=k + 1, num_row=M.shape[0], num_col=M.shape[1],
                                           values=tuple(M.ravel())))  # fmt: skip
        names = (("a_matrix_id", "1"), ("b_matrix_id", "2"), ("c_matrix_id", "3"))
        element = Control_StateEqn(**places, type="LINEAR", num_state=2, num_output=1, attributes=names)
    plant = Plant.from_model(
        on_rail(
            *arrays,
            element,
            Control_PlantInput(id=1, label="u", variable_id_list=(1,)),
            Control_PlantOutput(id=1, label="y", variable_id_list=(2,)),
            Reference_Variable(id=1, expr="0"),
            Reference_Variable(id=2, expr="ARYVAL(3,1)"),
        )
    )
    d = build("u.y>plant.u", u=Constant(1.0), plant=plant)
    expected = step_response(*signal.butter(2, 1.0, analog=True))
    assert np.abs(ends(d, w, "plant.y") - expected).max() < 1e-8


# --- the same everywhere ----------------------------------------------------------------------------------
def test_both_engines_take_the_same_steps():
    d = driven(low_pass(4, 1e6))
    one, other = (simulate(d, 1e-5, engine=engine, log_every="step") for engine in ENGINES)
    same(one, other)


def test_ordinary_systems_have_sizes_of_one():
    system = driven(low_pass(3, 2.0)).system()
    assert nominal_sizes(system, system.p0).tolist() == [1.0] * 3


def both_filters():
    d = build("u.y>f.u u.y>g.u", u=Step(time=0.0), f=low_pass(2, 1e6), g=low_pass(2, 1e3))
    system = d.system()
    return d, system


def test_blocks_of_one_shape_have_sizes_of_their_own():
    _, system = both_filters()
    sizes = nominal_sizes(system, system.p0)
    assert np.log10(sizes[:2]) == pytest.approx([-6.0, -12.0], abs=0.6)
    assert np.log10(sizes[2:]) == pytest.approx([-3.0, -6.0], abs=0.6)
    assert nominal_sizes(system, np.where(system.p0 == 1e12, 1.0, system.p0)).tolist() != sizes.tolist()


# --- they follow parameters -------------------------------------------------------------------------------
def coefficients(w):
    num, den = signal.butter(2, w, analog=True)
    return {"f.num": num[-1:], "f.den": den}


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_of_a_sweep_have_their_own(engine):
    cutoffs = [1.0, 1e3, 1e6, 1e6, 1e8]
    d, until = driven(low_pass(2, 1.0)), 2e-6
    runs = [{"parameters": coefficients(w)} for w in cutoffs]
    many = simulate_many(d, runs, until, engine=engine, threads=1)
    for k, w in enumerate(cutoffs):
        one = simulate(driven(low_pass(2, w)), until, engine=engine, log_at=[until])
        assert many["f.y"][k].ravel().tolist() == one["f.y"].ravel().tolist()
    expected = signal.step(signal.butter(2, 1.0, analog=True), T=[0.0, 2.0])[1][-1]
    assert many["f.y"][2].item() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_that_is_set_on_the_way_and_a_snapshot(engine):
    d = driven(low_pass(2, 1.0))
    sim = Simulation(d, engine=engine)
    sim.advance(1e-3)
    early = sim.snapshot()
    for name, value in coefficients(1e6).items():
        sim.set_parameter(name, value)
    sim.advance(1e-3 + 5e-6)
    kept = sim.snapshot()
    sim.advance(1e-3 + 9e-6)
    end = sim.value("f.y")
    x = sim.value("f.x")
    other = Simulation(d, engine=engine)
    other.restore(kept)
    other.advance(1e-3 + 9e-6)
    assert other.value("f.x").tolist() == x.tolist()
    sim.restore(early)  # with the first parameters
    sim.advance(1.0)
    again = Simulation(d, engine=engine)
    again.advance(1e-3)
    again.advance(1.0)
    assert sim.value("f.x").tolist() == again.value("f.x").tolist()
    # from x at 1e-3 on, with the coefficients of 1e6 rad/s
    A, B, C, _ = signal.tf2ss(*signal.butter(2, 1e6, analog=True))
    whole = np.block([[A, B], [np.zeros((1, 3))]])
    start = np.array([1e-3 * (1 - 0.5e-3 * np.sqrt(2.0)), 0.5e-6])
    expected = C @ (expm(whole * 9e-6) @ [*start, 1.0])[:2]
    assert end == pytest.approx(expected, rel=1e-2)  # the start to some digits


def test_parameters_of_diagrams():
    d = Diagram("d")
    w = d.parameter("w", 1.0)
    d.add("u", Step(time=0.0))
    d.add("f", StateSpace([[0.0, 1.0], [-w * w, -1.4 * w]], [[0.0], [1.0]], [[w * w, 0.0]]))
    d.connect("u.y", "f.u")
    system = d.system()
    assert nominal_sizes(system, system.p0).tolist() == [1.0, 1.0]
    r = simulate(d, 12e-6, parameters={"w": 1e6}, log_at=TIMES / 1e6)
    assert np.abs(r["f.y"].ravel() - step_response([1.0], [1.0, 1.4, 1.0])).max() < 5e-9


# --- blocks of one's own ----------------------------------------------------------------------------------
def ring(size):
    """x' = v, v' = -w^2 x + u with the size given in terms of w."""

    def equations(b):
        (w,) = b.parameters(w=1e6)
        x = b.continuous("x", [0.0, 0.0], nominal=size(w))
        b.derivative(x, np.stack([x[1], 1.0 - w * w * x[0]]))
        b.output("y", w * w * x[0])

    return alone(equations)


@pytest.mark.parametrize(
    "size",
    [
        lambda w: [1 / w**2, 1 / w],
        lambda _: lambda w: [1 / w**2, 1 / w],
        lambda _: np.array([1e-12, 1e-6]),
        lambda w: np.stack([1 / w**2, 1 / w]),
    ],
    ids=["list", "function", "numbers", "array"],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_sizes_as_expressions_functions_and_numbers(size, engine):
    """y = 1 - cos(w t)."""
    r = simulate(ring(size), 12e-6, engine=engine, log_at=TIMES / 1e6)
    assert np.abs(r["it.y"].ravel() - (1 - np.cos(TIMES))).max() < 5e-8


def test_a_lead_shows_its_state_as_its_time_constants_differ():
    """y = (1 - lead/lag) x + gain lead/lag u: a change of the size in x alone changes no more in y."""
    gain, lag, lead = 1e-4, 0.5, np.array([0.0, 0.45, 0.5, 1.0, 5.5])
    system = driven(LeadLag(gain, lead, lag)).system()
    largest, shown = gain * np.array([1.0, 1.0, 1.0, 2.0, 11.0]), np.array([1.0, 1.0, 1.0, 1.0, 10.0])
    assert nominal_sizes(system, system.p0).tolist() == pytest.approx(largest / shown)


def test_sizes_that_are_expressions_follow():
    system = ring(lambda w: [1 / w**2, 1 / w]).system()
    assert nominal_sizes(system, np.array([10.0])).tolist() == pytest.approx([1e-2, 1e-1])
    assert nominal_sizes(system, np.array([0.0])).tolist() == [1.0, 1.0]  # 1 / 0 is no size,
    assert nominal_sizes(system, np.array([-2.0])).tolist() == [0.25, 1.0]  # nor is what is below 0


@pytest.mark.parametrize(
    ("size", "why"),
    [
        (lambda b, u, k: 1 / u[0], "nominal of state 'x' depends on 'u', expected numbers, or an expression"),
        (lambda b, u, k: k * b.time, "nominal of state 'x' depends on 't"),
        (lambda b, u, k: [k, k], "2 nominal sizes for 1 components"),
        (lambda b, u, k: -1.0, "nominal of state 'x' is -1.0, expected a number above 0"),
        (lambda b, u, k: "1", "nominal of state 'x' is '1', expected a number above 0"),
    ],
)
def test_sizes_that_are_none(size, why):
    def equations(b):
        u, (k,) = b.input("u", size=1), b.parameters(k=2.0)
        x = b.continuous("x", 0.0, nominal=size(b, u, k))
        b.derivative(x, u)

    with pytest.raises(PlantloopError, match=why):
        alone(equations).system()


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda k: 1 / 0, "nominal of state 'x' is not found: ZeroDivisionError"),
        (lambda: 1.0, "nominal of state 'x' is not found: TypeError"),
        (lambda k: [1.0, 2.0, 3.0], "nominal of state 'x' has 3 numbers for 1 components"),
        (lambda k: "large", "nominal of state 'x' is not found"),
    ],
)
def test_functions_that_find_none(function, why):
    def equations(b):
        b.parameters(k=2.0)
        x = b.continuous("x", 0.0, nominal=function)
        b.derivative(x, 0 * x)

    with pytest.raises(BlockError, match=why):
        simulate(alone(equations), 1.0, engine="reference")


# --- exported ---------------------------------------------------------------------------------------------
def exported(folder, version="2.0", **options):
    d = Diagram("filter")
    d.connect(d.inport("u"), d.add("f", low_pass(2, 1.0))["u"])
    d.outport("y", d["f"]["y"])
    return export_fmu(d, folder / "filter.fmu", version=version, parameters=coefficients(1e6), **options)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_exported_units_say_the_sizes(version, tmp_path):
    """An array has one nominal in FMI 3: that of its smallest component."""
    xml = zipfile.ZipFile(exported(tmp_path, version, platforms=[])).read("modelDescription.xml").decode()
    found = [float(text) for text in re.findall(r'nominal="([^"]*)"', xml)]
    expected = [-6.0, -12.0] if version == "2.0" else [-12.0]
    assert np.log10(found) == pytest.approx(expected, abs=0.7)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_exported_filter_is_as_exact_here(version, tmp_path):
    """An importer asks for the nominals of model exchange; co-simulation has those inside."""
    path = exported(tmp_path, version, solver="dopri5")
    expected = step_response(*signal.butter(2, 1.0, analog=True))
    for kind, sample in (("me", None), ("cs", "1e-6")):
        d = build("u.y>f.u", u=Constant(1.0), f=FMU(path, kind=kind, sample=sample))
        assert np.abs(ends(d, 1e6, engine="reference") - expected).max() < 5e-9, kind
