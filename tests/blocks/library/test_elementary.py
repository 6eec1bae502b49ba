"""Functions of signals, matrices and equations to solve, against NumPy and SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose as close
from numpy.testing import assert_array_equal as same
from scipy.optimize import brentq

from blocks import (
    AlgebraicConstraint,
    Assignment,
    Bias,
    BlockError,
    CrossProduct,
    DotProduct,
    Function,
    Integrator,
    MathFunction,
    MatrixInverse,
    MatrixMultiply,
    MinMax,
    MinMaxRunning,
    Norm,
    PeakHold,
    Polynomial,
    Pulse,
    Ramp,
    Reshape,
    Rounding,
    Sine,
    Sqrt,
    TimeTable,
    TrigonometricFunction,
    Wrap,
)
from cosim import Diagram, linearize, simulate
from tests.blocks.library.test_logic import fed, sampled
from tests.helpers.solo import Solo

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])


def of(block, *u):
    names = [i.name for i in Solo(block, {}).declared.inputs] if not u else None
    sizes = dict(zip(names or ports(block, len(u)), (len(v) for v in u), strict=True))
    return Solo(block, sizes).outputs([np.asarray(v, float) for v in u])


def ports(block, n):
    return ["u"] if n == 1 else ["in1", "in2"]


@pytest.mark.parametrize(
    "name", ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh"]
)
def test_trigonometry_is_numpys(name):
    u = np.linspace(-0.9, 0.9, 7)
    numpys = getattr(np, name.replace("a", "arc", 1) if name[0] == "a" else name)
    close(of(TrigonometricFunction(name), u)["y"], numpys(u), rtol=1e-15, atol=1e-16)


def test_trigonometry_of_two_and_with_two_outputs():
    y, x = np.random.default_rng(2).normal(size=(2, 9))
    close(of(TrigonometricFunction("atan2"), y, x)["y"], np.arctan2(y, x), rtol=1e-15)
    both = of(TrigonometricFunction("sincos"), y)
    close(both["sin"], np.sin(y), rtol=1e-15)
    close(both["cos"], np.cos(y), rtol=1e-15)
    assert TrigonometricFunction("arccosh") == TrigonometricFunction("acosh")


@pytest.mark.parametrize(
    ("name", "numpys"),
    [
        ("exp", np.exp), ("ln", np.log), ("10^u", lambda u: 10.0**u), ("log10", np.log10),
        ("magnitude^2", np.square), ("cube", lambda u: u**3), ("reciprocal", np.reciprocal),
        ("expm1", np.expm1), ("log1p", np.log1p),
    ],
)  # fmt: skip
def test_functions_of_one(name, numpys):
    u = np.linspace(0.1, 3.0, 8)
    close(of(MathFunction(name), u)["y"], numpys(u), rtol=3e-15)


@pytest.mark.parametrize(
    ("name", "numpys"), [("pow", np.power), ("hypot", np.hypot), ("rem", np.fmod), ("mod", np.mod)]
)
def test_functions_of_two(name, numpys):
    rng = np.random.default_rng(3)
    u, v = rng.uniform(0.5, 4, 9), rng.uniform(0.5, 3, 9) * np.where(name == "mod", -1.0, 1.0)
    close(of(MathFunction(name), u, v)["y"], numpys(u, v), rtol=3e-15)


def test_roots_polynomials_bias():
    u = np.array([-4.0, 0.0, 9.0])
    assert of(Sqrt("signed"), u)["y"].tolist() == [-2, 0, 3]
    assert of(Sqrt("rsqrt"), u[2:])["y"] == pytest.approx(1 / 3)
    c = [2.0, -1.0, 0.0, 0.5]
    close(of(Polynomial(c), u)["y"], np.polyval(c, u), rtol=1e-15)
    assert of(Bias([1.0, 2.0, 3.0]), u)["y"].tolist() == [-3, 2, 12]


def test_vectors_and_matrices():
    rng = np.random.default_rng(4)
    p, q = rng.normal(size=(2, 3))
    A, B = rng.normal(size=(2, 3)), rng.normal(size=(3, 4))
    close(of(DotProduct(), p, q)["y"], [p @ q], rtol=0, atol=4e-16 * np.abs(p * q).sum())
    close(of(CrossProduct(), p, q)["y"], np.cross(p, q), rtol=1e-14)
    close(of(MatrixMultiply((2, 3), (3, 4)), A.ravel(), B.ravel())["y"], (A @ B).ravel(), rtol=1e-14)
    S = rng.normal(size=(4, 4))
    close(of(MatrixInverse(4), S.ravel())["y"], np.linalg.inv(S).ravel(), rtol=1e-11)
    for kind, order in (("1", 1), (2, 2), ("inf", np.inf)):
        close(of(Norm(kind), p)["y"], [np.linalg.norm(p, order)], rtol=1e-15)
    same(of(Reshape((2, 3), "column"), np.arange(6))["y"], np.arange(6).reshape(3, 2).T.ravel())
    same(of(Reshape((2, 3)), np.arange(6))["y"], np.arange(6))
    assert of(Assignment([2, 0]), [1, 2, 3], [10, 20])["y"].tolist() == [20, 2, 10]


@ENGINES
@pytest.mark.parametrize("name", ["floor", "ceil", "round", "fix"])
def test_rounding_steps_where_numpy_rounds(engine, name):
    numpys = {"floor": np.floor, "ceil": np.ceil, "round": np.round, "fix": np.trunc}[name]
    d = fed(Rounding(name), {"u": Sine(2.7, 1.0, 0.2)})
    times = np.linspace(0.017, 7.0, 157)
    r = simulate(d, 7.0, log_at=times, engine=engine)
    same(r["it.y"][:, 0], numpys(2.7 * np.sin(times + 0.2)))
    fine = np.linspace(0, 7.0, 700_001)
    mean = numpys(2.7 * np.sin(0.5 * (fine[1:] + fine[:-1]) + 0.2)).sum() * 1e-5
    assert r["area.y"][-1, 0] == pytest.approx(mean, abs=3e-4)
    held = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.0, -1.0]
    table = TimeTable(np.arange(8.0), held, "previous")
    r = simulate(fed(Rounding(name), {"u": table}), 7.9, log_at=np.arange(8) + 0.4, engine=engine)
    same(r["it.y"][:, 0], numpys(held))


@ENGINES
def test_an_angle_is_wrapped_at_each_turn(engine):
    d = fed(Wrap(), {"u": Ramp(3.0, 0.5, -4.0)})
    times = np.linspace(0.01, 9.0, 91)
    u = -4.0 + 3.0 * np.maximum(times - 0.5, 0)
    r = simulate(d, 9.0, log_at=times, engine=engine)
    close(r["it.y"][:, 0], (u + np.pi) % (2 * np.pi) - np.pi, atol=1e-9)
    r = simulate(fed(Wrap(0.0, 360.0), {"u": Ramp(-100.0)}), 9.0, log_at=times, engine=engine)
    close(r["it.y"][:, 0], (-100.0 * times) % 360.0, atol=1e-6)


@ENGINES
def test_the_larger_of_two_sines(engine):
    d = fed(MinMax("max"), {"in1": Sine(), "in2": Sine(1.0, 1.0, np.pi / 2)})
    r = simulate(d, 2 * np.pi, log_at=[1.0, 2 * np.pi], engine=engine)
    assert r["area.y"][-1, 0] == pytest.approx(2 * np.sqrt(2), abs=2e-7)  # of |s - c|/2
    assert len(r.events) in (4, 2)


def test_extremes_of_samples_since_a_reset():
    u, reset = [3.0, 1.0, 4.0, 1.0, 5.0, 2.0, 0.0], [0, 0, 0, 1, 0, 0, 0]
    y = sampled(MinMaxRunning(0.1, function="max", initial=2.0, reset=True), u=u, reset=reset)["y"]
    assert y[:, 0].tolist() == [3, 3, 4, 2, 5, 5, 5]
    assert sampled(MinMaxRunning(0.1), u=[1.0, -2.0, 3.0])["y"][:, 0].tolist() == [0, -2, -2]


@ENGINES
def test_an_equation_written_as_a_diagram_is_solved(engine):
    """z + exp(z) = sin(t) + 2, and x' = z."""
    d = Diagram("implicit")
    z = d.add("z", AlgebraicConstraint(0.3))
    f = d.add("f", Function(lambda z, s: z + np.exp(z) - s - 2.0))
    d.connect(z["z"], f["z"])
    d.connect(d.add("s", Sine())["y"], f["s"])
    d.connect(f["y"], z["f"])
    d.connect(z["z"], d.add("x", Integrator())["u"])
    times = np.linspace(0.1, 5, 23)
    r = simulate(d, 5.0, log_at=times, engine=engine)
    wanted = [brentq(lambda v, t=t: v + np.exp(v) - np.sin(t) - 2.0, -5, 5, xtol=1e-14) for t in times]
    close(r["z.z"][:, 0], wanted, atol=1e-10)


@pytest.mark.parametrize(("guess", "found"), [({}, 0.0), ({"guess": 0.9}, 1.0), ({"guess": -0.9}, -1.0)])
def test_the_solution_next_to_the_guess_is_found(guess, found):
    """z^3 = z has three, and 0 is where one looks without a guess."""
    d = Diagram("implicit")
    z, f = d.add("z", AlgebraicConstraint(**guess)), d.add("f", Function(lambda z: z**3 - z))
    d.connect(z["z"], f["z"])
    d.connect(f["y"], z["f"])
    assert simulate(d, 0.0, log_at=[0.0], engine="reference")["z.z"][0, 0] == pytest.approx(found, abs=1e-12)


def test_an_equation_linearises_through_its_solution():
    d = Diagram("implicit")
    z, f = d.add("z", AlgebraicConstraint(0.5)), d.add("f", Function(lambda z, u: z + z**3 - u))
    x = d.add("x", Integrator(2.0))
    d.connect(z["z"], f["z"])
    d.connect(x["y"], f["u"])
    d.connect(f["y"], z["f"])
    d.connect(z["z"], x["u"])
    A = linearize(d, inputs=[], outputs=["z.z"]).A
    assert A[0, 0] == pytest.approx(1 / (1 + 3.0), rel=1e-9)  # z = 1 solves z + z^3 = 2


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: AlgebraicConstraint(np.nan), "guess"),
        (lambda: AlgebraicConstraint("near 1"), "guess is 'near 1'"),
        (lambda: TrigonometricFunction("sine"), "function is 'sine'"),
        (lambda: MathFunction("sqare"), "Did you mean"),
        (lambda: MatrixMultiply((2, 3), (2, 1)), "right is (2, 1), expected 3 rows"),
        (lambda: Assignment([0, 0]), "each component once"),
        (lambda: Norm(3), "Norm: kind is 3"),
        (lambda: Wrap(period=0.0), "period is 0.0"),
        (lambda: Wrap(low=np.nan), "low is nan"),
        (lambda: Rounding("up"), "function is 'up'"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text.lower() in str(caught.value).lower()


@ENGINES
def test_running_extremes_without_ticks_start_anew_where_they_are_reset(engine):
    """u = sin t; the reset is on for t in (3, 4): a maximum of what came since."""
    d = fed(
        MinMaxRunning(function="max", initial=-0.5, reset=True),
        {"u": Sine(), "reset": Pulse(1.0, 20, "0.05", 3)},
    )
    t = np.array([1.0, 2.5, 3.5, 4.5, 6.5, 9.0])
    r = simulate(d, 9.0, log_at=t, engine=engine)
    close(r["it.y"][:, 0], [np.sin(1.0), 1.0, -0.5, -0.5, np.sin(6.5), 1.0], atol=1e-8)
    reset = Pulse(1.0, 20, "0.05", 3)
    lowest = fed(MinMaxRunning(initial=0.5, reset=True), {"u": Sine(-1.0), "reset": reset})
    turned = simulate(lowest, 9.0, log_at=t, engine=engine)
    assert np.array_equal(turned["it.y"], -r["it.y"]) and turned.events == r.events
    low = simulate(fed(MinMaxRunning(initial=0.2), {"u": Sine()}), 6.0, log_at=[1.0, 4.0, 6.0], engine=engine)
    close(low["it.y"][:, 0], [0.0, np.sin(4.0), -1.0], atol=1e-8)


@ENGINES
@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("initial", [None, 0.2])
@pytest.mark.parametrize("phase", [0.0, 0.5 * np.pi, np.pi, 4.0])
def test_peaks_are_those_of_a_fine_grid_also_where_a_signal_leaves_at_the_start(engine, kind, initial, phase):
    r = simulate(
        fed(PeakHold(kind, initial), {"u": Sine(1.0, 1.0, phase)}),
        6.0, log_at=np.linspace(0.0, 6.0, 61), engine=engine,
    )  # fmt: skip
    extreme = np.maximum if kind == "max" else np.minimum
    wanted = extreme.accumulate(np.sin(np.linspace(0.0, 6.0, 60_001) + phase))[::1000]
    close(r["it.y"][:, 0], wanted if initial is None else extreme(wanted, initial), atol=1e-7)


@ENGINES
def test_the_extreme_of_one_vector(engine):
    t = np.array([0.1, 1.0, 2.0, 4.0, 5.5])
    waves = np.sin(t[:, None] + np.array([0.0, 2.0, 4.0]))
    for word in ("min", "max"):
        d = fed(MinMax(word, 1), {"u": Sine(phase=[0.0, 2.0, 4.0])})
        r = simulate(d, 6.0, log_at=t, engine=engine)
        close(r["it.y"][:, 0], getattr(waves, word)(axis=1), atol=1e-12)
