"""Every function of the table: values by independent formulas, finite at corners, rates by motion."""

import math
import re
import warnings

import casadi as ca
import numpy as np
import pytest

from plant.expressions.expression import MarkerState, PlantWarning, parse
from plant.expressions.functions import FAMILIES, FUNCTIONS, LanguageFunction, table
from plant.expressions.functions.entry import LITERALS, MARKERS
from plant.expressions.splines import SplineData
from tests.helpers.checked import closed_form
from tests.helpers.scope import Symbols, at, number

CURVE = SplineData(
    [-1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 6.0], [0.0, 1.0, 0.5, 2.0, 2.5, 1.0, 0.0], where="spline 1"
)
OF_MARKERS = [f for f in FUNCTIONS.values() if all(name in MARKERS for name in f.arguments)]


def _example(function: LanguageFunction) -> str:
    return re.sub(r"\bx\b", "VARVAL(1)", function.example)


# ---- the table


def test_names_are_unique():
    assert sum(len(family.FUNCTIONS) for family in FAMILIES) == len(FUNCTIONS)
    with pytest.raises(ValueError, match=r"two functions are called DM"):
        table([FUNCTIONS["DM"], FUNCTIONS["DX"], FUNCTIONS["DM"]])


def test_every_function_of_the_language_is_there():
    language = """
        DM DX DY DZ AX AY AZ AXU AYU AZU PSI THETA PHI YAW PITCH ROLL VX VY VZ VM VR WX WY WZ WM
        ACCX ACCY ACCZ ACCM WDTX WDTY WDTZ WDTM FM TM FX FY FZ TX TY TZ SFORCE VFORCE VTORQ GFORCE
        BUSH SPDP FIELD BEAM NFORCE JOINT JPRIM MOTION COUPLER GCON VARVAL ARYVAL DIF DIF1 PINVAL POUVAL
        SENVAL AKISPL CUBSPL QUISPL LINSPL FITSPL STEP STEP5 HAVSIN SHF FORCOS FORSIN POLY CHEBY SWEEP
        IMPACT BISTOP IF ABS ACOS ASIN ATAN COS COSH EXP LOG LOG10 SIN SINH SQRT TAN TANH ATAN2 AINT
        ANINT MOD SIGN DIM MAX MIN"""
    extensions = {"WHEELH", "WHEELW"}  # of inertia wheels, which the file format does not have
    assert set(language.split()) | extensions == set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=str)
def test_entry_is_complete(function):
    assert function.name == function.name.upper()
    assert function.least <= function.most
    named = [name in LITERALS for name in function.arguments]
    assert named == sorted(named)  # values first, literals last
    expression = parse(_example(function))
    text, column, _ = expression.terms(_moving())[-1]
    assert (text, column) == (expression.text, 1)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda f: f.name)
def test_value_and_derivative_are_finite_at_corners(function):
    scope = _moving()
    value = parse(_example(function)).evaluate(scope)
    symbols = [*scope.symbols.values(), scope.time]
    if not any(ca.depends_on(value, symbol) for symbol in symbols):
        assert function in OF_MARKERS  # tested below, pose by pose
        return
    f = ca.Function("f", symbols, [value, ca.jacobian(value, ca.vertcat(*symbols))])
    for x in function.at or (0.0,):
        numbers = f(*(x if key == ("variable", 1) else 0.3 for key in scope.symbols), 0.3)
        assert all(np.all(np.isfinite(np.array(n))) for n in numbers), f"{function} at x = {x}"


def test_second_derivatives_are_finite_where_a_motion_needs_them():
    for text in ("STEP(x,0,1,1,2)", "STEP5(x,0,1,1,2)", "HAVSIN(x,0,1,1,2)", "x**1.5", "SQRT(x)", "ABS(x)"):
        for x in (0.0, 1.0):
            assert np.all(np.isfinite(at(text.replace("x", "VARVAL(1)"), x)))


# ---- general functions, against the printed formulas


def _step(x, x0, y0, x1, y1):
    s = (x - x0) / (x1 - x0)
    return y0 if x <= x0 else y1 if x >= x1 else y0 + (y1 - y0) * s**2 * (3 - 2 * s)


def _step5(x, x0, y0, x1, y1):
    s = (x - x0) / (x1 - x0)
    return y0 if x <= x0 else y1 if x >= x1 else y0 + (y1 - y0) * s**3 * (10 - 15 * s + 6 * s**2)


def _havsin(x, x0, y0, x1, y1):
    s = (x - x0) / (x1 - x0)
    middle = (y0 + y1) / 2 + (y1 - y0) / 2 * math.sin(math.pi * s - math.pi / 2)
    return y0 if x <= x0 else y1 if x >= x1 else middle


def _sweep(x, a, x0, f0, x1, f1, dx):
    if x <= x0:
        phase = f0 * x
    elif x >= x1:
        phase = f1 * x - (f1 - f0) / 2 * (x1 + x0)
    else:
        phase = f0 * (x - x0) + (f1 - f0) / (2 * (x1 - x0)) * (x - x0) ** 2 + f0 * x0
    return _step5(x, x0, 0, x0 + dx, 1) * a * math.sin(2 * math.pi * phase)


def _impact(x, xd, x1, k, e, cmax, d):
    return max(0.0, k * (x1 - x) ** e - _step(x, x1 - d, cmax, x1, 0) * xd) if x < x1 else 0.0


def _bistop(x, xd, x1, x2, k, e, cmax, d):
    if x < x1:
        return max(k * (x1 - x) ** e - _step(x, x1 - d, cmax, x1, 0) * xd, 0.0)
    if x > x2:
        return min(-k * (x - x2) ** e - _step(x, x2, 0, x2 + d, cmax) * xd, 0.0)
    return 0.0


PRINTED = closed_form("the language's printed formula in Python")
FORMULAS = {
    "STEP(x, -0.5, 2, 1.5, 7)": lambda x: _step(x, -0.5, 2, 1.5, 7),
    "STEP5(x, -0.5, 2, 1.5, -7)": lambda x: _step5(x, -0.5, 2, 1.5, -7),
    "HAVSIN(x, -0.5, 2, 1.5, 7)": lambda x: _havsin(x, -0.5, 2, 1.5, 7),
    "SHF(x, 0.2, 3, 4, 0.5, 6)": lambda x: 3 * math.sin(4 * (x - 0.2) - 0.5) + 6,
    "FORCOS(x, 0.2, 3, 1, 2, 4)": lambda x: 1 + 2 * math.cos(3 * (x - 0.2)) + 4 * math.cos(6 * (x - 0.2)),
    "FORSIN(x, 0.2, 3, 1, 2, 4)": lambda x: 1 + 2 * math.sin(3 * (x - 0.2)) + 4 * math.sin(6 * (x - 0.2)),
    "FORCOS(x, 0, 1, 7)": lambda x: 7,
    "POLY(x, 0.2, 1, 2, 3, 4)": lambda x: np.polynomial.Polynomial([1, 2, 3, 4])(x - 0.2),
    "CHEBY(x, 0.2, 1, 2, 3, 4, 5)": lambda x: np.polynomial.Chebyshev([1, 2, 3, 4, 5])(x - 0.2),
    "CHEBY(x, 0.2, 3)": lambda x: 3,
    "SWEEP(x, 3, -0.5, 1, 1.5, 4, 0.75)": lambda x: _sweep(x, 3, -0.5, 1, 1.5, 4, 0.75),
    "IMPACT(x, -0.3, 1, 100, 1.5, 10, 0.2)": lambda x: _impact(x, -0.3, 1, 100, 1.5, 10, 0.2),
    "IMPACT(x, 20, 1, 100, 0.5, 10, 0.2)": lambda x: _impact(x, 20, 1, 100, 0.5, 10, 0.2),  # never pulls
    "BISTOP(x, 0.3, -1, 1, 100, 2.2, 10, 0.2)": lambda x: _bistop(x, 0.3, -1, 1, 100, 2.2, 10, 0.2),
    "BISTOP(x, -30, -1, 1, 100, 1, 10, 0.2)": lambda x: _bistop(x, -30, -1, 1, 100, 1, 10, 0.2),
    "IF(x: 2, 3, x)": lambda x: 2 if x < 0 else 3 if x == 0 else x,
    "ABS(x)": abs,
    "ACOS(x/4)": lambda x: math.acos(x / 4),
    "ASIN(x/4)": lambda x: math.asin(x / 4),
    "ATAN(x)": math.atan,
    "ATAN2(x, -1)": lambda x: math.atan2(x, -1),
    "ATAN2(-1, x)": lambda x: math.atan2(-1, x),
    "COS(x)": math.cos,
    "COSH(x)": math.cosh,
    "EXP(x)": math.exp,
    "LOG(x + 4)": lambda x: math.log(x + 4),
    "LOG10(x + 4)": lambda x: math.log10(x + 4),
    "SIN(x)": math.sin,
    "SINH(x)": math.sinh,
    "SQRT(x + 3)": lambda x: math.sqrt(x + 3),
    "TAN(x)": math.tan,
    "TANH(x)": math.tanh,
    "AINT(x)": math.trunc,
    "ANINT(x)": lambda x: math.floor(x + 0.5) if x >= 0 else math.ceil(x - 0.5),
    "MOD(x, 0.7)": lambda x: math.fmod(x, 0.7),
    "MOD(x, -0.7)": lambda x: math.fmod(x, -0.7),
    "SIGN(x, 2)": abs,
    "SIGN(-3, x)": lambda x: 3 if x >= 0 else -3,
    "DIM(x, 0.3)": lambda x: max(x - 0.3, 0),
    "MAX(x, 0.3, x*x)": lambda x: max(x, 0.3, x * x),
    "MIN(x, 0.3, x*x)": lambda x: min(x, 0.3, x * x),
    "(x + 4)**x": lambda x: (x + 4) ** x,
    "2**x": lambda x: 2**x,
    "x**3": lambda x: x**3,
}


@pytest.mark.parametrize("text", FORMULAS)
def test_formula(checked, text):
    for x in (-3.0, -1.5, -1.0, -0.5, 0.0, 0.2, 0.85, 1.0, 1.1, 1.5, 2.5):
        value = number(re.sub(r"\bx\b", "VARVAL(1)", text), x)
        checked(value, FORMULAS[text](x), f"`{text}`", "value", PRINTED, rtol=1e-12, atol=1e-12)


def test_ends_are_exact():
    for name in ("STEP", "STEP5", "HAVSIN"):
        assert number(f"{name}(VARVAL(1), 0.1, 0.1, 0.7, 0.3)", 0.1) == 0.1
        assert number(f"{name}(VARVAL(1), 0.1, 0.1, 0.7, 0.3)", 0.7) == 0.3
        assert number(f"{name}(VARVAL(1), 0, 1E20, 1, 1)", 5) == 1


def test_a_jump_where_the_ends_are_values():
    scope = Symbols()
    value = parse("STEP(VARVAL(1), VARVAL(2), 1, VARVAL(3), 5)").evaluate(scope)
    symbols = list(scope.symbols.values())
    f = ca.Function("f", symbols, [value, ca.jacobian(value, ca.vertcat(*symbols))])
    assert [float(f(x, 2, 2)[0]) for x in (1, 2, 3)] == [1, 1, 5]
    assert float(f(1.5, 1, 2)[0]) == 3
    assert all(np.all(np.isfinite(np.array(f(x, 2, 2)[1]))) for x in (1, 2, 3))


def test_power_of_values():
    scope = Symbols()
    value = parse("VARVAL(1)**VARVAL(2)").evaluate(scope)
    symbols = list(scope.symbols.values())
    f = ca.Function("f", symbols, [value, ca.jacobian(value, ca.vertcat(*symbols))])
    for base, exponent in ((2, 3.5), (-2, 3), (-2, -2), (0, 2), (0, 0), (0, 0.5), (3, 0)):
        power, slopes = f(base, exponent)
        assert float(power) == pytest.approx(base**exponent)
        assert np.all(np.isfinite(np.array(slopes)))
    assert math.isnan(float(f(-2, 0.5)[0]))
    assert math.isinf(float(f(0, -1)[0]))
    np.testing.assert_allclose(np.array(f(2, 3)[1]), [[12, 8 * math.log(2)]])
    np.testing.assert_allclose(np.array(f(-2, 3)[1]), [[12, 0]])


def test_negative_powers_that_are_numbers():
    """At 0 what the formula tends to, not the 0 of positive fractions."""
    for exponent in (-0.5, -1.5, -0.25, -1, -2):
        text = f"VARVAL(1)**({exponent})"
        assert number(text, 0.0) == math.inf
        assert number(text, 4.0) == pytest.approx(4.0**exponent, rel=1e-15)
        x = ca.SX.sym("x")
        scope = Symbols()
        value = parse(text).evaluate(scope)
        (x,) = scope.symbols.values()
        slope = ca.Function("slope", [x], [ca.jacobian(value, x)])
        assert float(slope(4.0)) == pytest.approx(exponent * 4.0 ** (exponent - 1), rel=1e-14)
    assert number("VARVAL(1)**0.5", 0.0) == 0 and number("VARVAL(1)**0", 0.0) == 1


@pytest.mark.parametrize("other", ["1", "VARVAL(1)*0 + 1"])
@pytest.mark.parametrize("name", ["MAX", "MIN"])
def test_extremes_do_not_hide_what_is_not_a_number(name, other):
    """In either place, beside a number or a value, and behind others."""
    root = "SQRT(VARVAL(1))"
    chosen = max if name == "MAX" else min
    for more in ([], [3.0], [0.5, 3.0]):
        rest = "".join(f", {x}" for x in more)
        for text in (f"{name}({other}, {root}{rest})", f"{name}({root}, {other}{rest})"):
            assert math.isnan(number(text, -4.0)), text
            assert number(text, 4.0) == chosen(1.0, 2.0, *more), text
        if more:
            assert math.isnan(number(f"{name}({other}{rest}, {root})", -4.0))
            assert number(f"{name}({other}{rest}, {root})", 4.0) == chosen(1.0, 2.0, *more)


@pytest.mark.parametrize(
    "text",
    ["SQRT(x)", "LOG(x)", "LOG10(x)", "ASIN(x)", "ACOS(x)", "x**0.5", "MAX(SQRT(x), 1)", "MIN(1, SQRT(x))"],
)
def test_outside_the_domain_is_nan_and_stays_nan(text):
    text = text.replace("x", "VARVAL(1)")
    assert math.isnan(number(text, -1.5))
    assert math.isnan(number(f"STEP({text}, 0, 0, 1, 1) + IMPACT({text}, 0, 1, 1, 1, 1, 1)", -1.5))
    assert math.isnan(number(f"IF({text}: 1, 2, 3)", -1.5))
    assert number(f"IF(VARVAL(1): 1, 2, {text})", -1.5) == 1


# ---- markers


def _axes(psi: ca.SX, theta: ca.SX, phi: ca.SX) -> ca.SX:
    return ca.mtimes([_about(psi, 2), _about(theta, 0), _about(phi, 2)])


def _about(angle: ca.SX, axis: int) -> ca.SX:
    c, s = ca.cos(angle), ca.sin(angle)
    R = ca.SX.eye(3)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R[j, j], R[k, k], R[j, k], R[k, j] = c, c, -s, s
    return R


def _vee(W: ca.SX) -> ca.SX:
    return ca.vertcat(W[2, 1], W[0, 2], W[1, 0])


def _moving(seed: int = 5) -> Symbols:
    """Four markers in arbitrary smooth motion: all of a MarkerState follows from r(t) and A(t)."""
    scope = Symbols(splines={1: CURVE})
    t = scope.time
    rng = np.random.default_rng(seed)
    for id in (1, 2, 3, 4):
        c = ca.DM(rng.uniform(-1, 1, (6, 4)))
        powers = ca.vertcat(1, t, t**2, ca.sin(3 * t))
        r, angles = ca.mtimes(c[:3, :], powers), ca.mtimes(c[3:, :], powers)
        A = _axes(angles[0], angles[1], angles[2])
        v, w = ca.jacobian(r, t), _vee(ca.mtimes(ca.reshape(ca.jacobian(ca.vec(A), t), 3, 3), A.T))
        scope.markers[id] = MarkerState(r, A, v, w, ca.jacobian(v, t), ca.jacobian(w, t))
    return scope


def _over_time(*texts: str, seed: int = 5) -> ca.Function:
    scope = _moving(seed)
    return ca.Function("f", [scope.time], [ca.vertcat(*(parse(text).evaluate(scope) for text in texts))])


def _rate(f: ca.Function, t: float, h: float = 1e-4) -> np.ndarray:
    """Central difference of fourth order."""
    out = [_numbers(f, t + k * h) for k in (-2, -1, 1, 2)]
    return (out[0] - 8 * out[1] + 8 * out[2] - out[3]) / (12 * h)


def _numbers(f: ca.Function, t: float) -> np.ndarray:
    return np.array(f(t)).ravel()


@pytest.mark.parametrize("t", [0.1, 0.7, 1.3])
def test_velocity_is_the_rate_of_displacement_in_its_frame(t):
    """d/dt of the components along L is the velocity seen in L, along L."""
    for ids, frame in (("1", 0), ("1,2", 0), ("1,2,3", 3), ("1,0,3", 3), ("1,2,1", 1)):
        i, j, _ = (*map(int, ids.split(",")), 0, 0)[:3]
        displacement = _over_time(*(f"D{c}({ids})" for c in "XYZ"))
        velocity = _over_time(*(f"V{c}({i},{j},{frame},{frame})" for c in "XYZ"))
        np.testing.assert_allclose(_numbers(velocity, t), _rate(displacement, t), rtol=1e-8, atol=1e-8)


def test_velocity_along_other_axes_is_the_same_vector():
    t = 0.4
    seen = _over_time(*(f"V{c}(1,2,4,3)" for c in "XYZ"), *(f"V{c}(1,2,3,3)" for c in "XYZ"))
    numbers = _numbers(seen, t)
    scope = _moving()
    A = ca.Function("A", [scope.time], [scope.markers[4].A, scope.markers[3].A])
    A4, A3 = (np.array(a) for a in A(t))
    np.testing.assert_allclose(A4 @ numbers[:3], A3 @ numbers[3:], rtol=1e-12)
    length = _numbers(_over_time("VM(1,2,3)"), t)
    assert length[0] == pytest.approx(np.linalg.norm(numbers[:3]))


@pytest.mark.parametrize("distance", [1e-12, 0.2, 3.0])
def test_rate_of_a_distance_is_a_part_of_the_velocity_however_far(distance):
    """v = (1, 2, 3) along (3, -4, 0)/5 is -1, also where they are near; nothing where they are one point."""
    scope = Symbols()
    at, turned, rest = np.array([0.6, -0.8, 0.0]), np.eye(3), ca.SX(3, 1)
    for id, r, v in ((1, distance * at, [1.0, 2.0, 3.0]), (2, 0 * at, [0.0] * 3)):
        scope.markers[id] = MarkerState(ca.SX(ca.DM(r)), ca.SX(turned), ca.SX(ca.DM(v)), rest, rest, rest)
    scope.markers[3] = scope.markers[2]
    near, nowhere = (parse(text).evaluate(scope) for text in ("VR(1,2)", "VR(3,2)"))
    assert float(near) == pytest.approx(-1.0) and float(nowhere) == 0.0


@pytest.mark.parametrize("t", [0.1, 0.7, 1.3])
def test_rates_of_distance_and_of_angles(t):
    """VR is the rate of DM in every frame; a 3-1-3 angle's rates give the angular velocity."""
    distance_rate = _rate(_over_time("DM(1,2)"), t)[0]
    np.testing.assert_allclose(_numbers(_over_time("VR(1,2)", "VR(1,2,3)"), t), distance_rate, rtol=1e-8)
    psi, theta, _ = _numbers(_over_time("PSI(1,2)", "THETA(1,2)", "PHI(1,2)"), t)
    psid, thetad, phid = _rate(_over_time("PSI(1,2)", "THETA(1,2)", "PHI(1,2)"), t)
    w = [
        thetad * math.cos(psi) + phid * math.sin(psi) * math.sin(theta),
        thetad * math.sin(psi) - phid * math.cos(psi) * math.sin(theta),
        psid + phid * math.cos(theta),
    ]
    np.testing.assert_allclose(_numbers(_over_time("WX(1,2,2)", "WY(1,2,2)", "WZ(1,2,2)"), t), w, rtol=1e-7)
    assert _numbers(_over_time("WM(1,2)"), t)[0] == pytest.approx(np.linalg.norm(w))


@pytest.mark.parametrize("t", [0.1, 0.7])
def test_acceleration_is_the_rate_of_velocity_in_its_frame(t):
    for i, j, l in ((1, 2, 0), (1, 2, 3), (1, 0, 3), (1, 2, 2)):
        velocity = _over_time(
            *(f"V{c}({i},{j},{l},{l})" for c in "XYZ"), *(f"W{c}({i},{j},{l})" for c in "XYZ")
        )
        texts = [f"{name}{c}({i},{j},{l},{l})" for name in ("ACC", "WDT") for c in "XYZ"]
        numbers = _numbers(_over_time(*texts), t)
        np.testing.assert_allclose(numbers, _rate(velocity, t), rtol=1e-7, atol=1e-7)
        lengths = _numbers(_over_time(f"ACCM({i},{j},{l})", f"WDTM({i},{j},{l})"), t)
        np.testing.assert_allclose(lengths, [np.linalg.norm(numbers[:3]), np.linalg.norm(numbers[3:])])


def _posed(r=(0, 0, 0), A: np.ndarray | None = None) -> Symbols:
    scope = Symbols()
    for id in (1, 2, 3, 4):
        own = (r, np.eye(3) if A is None else A) if id == 1 else ((0, 0, 0), np.eye(3))
        scope.markers[id] = MarkerState(
            ca.SX(ca.DM(own[0])), ca.SX(ca.DM(own[1])), ca.SX.zeros(3), ca.SX.zeros(3)
        )
    return scope


def _rotation(axis: int, angle: float) -> np.ndarray:
    return np.array(ca.DM(_about(ca.SX(angle), axis)))


@pytest.mark.parametrize("angle", [-3.0, -1.0, 0.0, 0.5, 2.0, math.pi])
def test_rotation_about_one_axis(angle):
    for axis, name in enumerate(("AX", "AY", "AZ")):
        scope = _posed(A=_rotation(axis, angle))
        assert number(f"{name}(1,2)", scope=scope) == pytest.approx(angle)
        assert number(f"{name}U(1,2)", scope=scope) == pytest.approx(angle)


def test_angles_of_a_rotation():
    psi, theta, phi = 0.3, 1.1, -2.0
    scope = _posed(A=_rotation(2, psi) @ _rotation(0, theta) @ _rotation(2, phi))
    for name, angle in (("PSI", psi), ("THETA", theta), ("PHI", phi)):
        assert number(f"{name}(1,2)", scope=scope) == pytest.approx(angle)
    yaw, pitch, roll = -2.5, 0.4, 1.2
    scope = _posed(A=_rotation(2, yaw) @ _rotation(1, -pitch) @ _rotation(0, roll))
    for name, angle in (("YAW", yaw), ("PITCH", pitch), ("ROLL", roll)):
        assert number(f"{name}(1,2)", scope=scope) == pytest.approx(angle)
    assert number("DZ(1)", scope=_posed(A=_rotation(1, -0.4), r=(1, 2, 3))) == 3


@pytest.mark.parametrize("tilt", [1e-7, 1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("opposed", [False, True])
def test_angles_near_parallel_axes_are_still_three(tilt, opposed):
    """With the z-axes nearly parallel PSI and PHI stay apart; only their sum is what parallel axes show."""
    psi, phi = 0.4, 1.1
    theta = math.pi - tilt if opposed else tilt
    scope = _posed(A=_rotation(2, psi) @ _rotation(0, theta) @ _rotation(2, phi))
    found = [number(f"{name}(1,2)", scope=scope) for name in ("PSI", "THETA", "PHI")]
    near = 1e-14 / tilt  # rounding of the entries, over the sine of the tilt
    assert found == pytest.approx([psi, theta, phi], abs=max(10 * near, 1e-12))
    yaw, roll = 0.3, -0.8
    pitch = math.pi / 2 - tilt
    upright = _posed(A=_rotation(2, yaw) @ _rotation(1, -pitch) @ _rotation(0, roll))
    found = [number(f"{name}(1,2)", scope=upright) for name in ("YAW", "PITCH", "ROLL")]
    assert found == pytest.approx([yaw, pitch, roll], abs=max(10 * near, 1e-12))


def test_angles_of_axes_that_rounding_keeps_from_being_parallel():
    """Tilted by 1e-10 about any direction: the whole rotation is the first angle, and the third is 0."""
    psi, phi, tilt = 0.4, 1.1, 1e-10
    scope = _posed(A=_rotation(2, psi) @ _rotation(0, tilt) @ _rotation(2, phi))
    assert number("PSI(1,2)", scope=scope) == pytest.approx(psi + phi, abs=1e-9)
    assert number("PHI(1,2)", scope=scope) == 0
    yaw, roll = 0.3, -0.8
    upright = _posed(A=_rotation(2, yaw) @ _rotation(1, tilt - math.pi / 2) @ _rotation(0, roll))
    assert number("YAW(1,2)", scope=upright) == pytest.approx(yaw + roll, abs=1e-9)
    assert number("ROLL(1,2)", scope=upright) == 0


def test_angles_where_they_are_not_unique():
    aligned = _posed(A=_rotation(2, 0.7))
    assert [number(f"{n}(1,2)", scope=aligned) for n in ("THETA", "PHI")] == [0, 0]
    assert number("PSI(1,2)", scope=aligned) == pytest.approx(0.7)
    opposed = _posed(A=_rotation(2, 0.7) @ np.diag([1.0, -1.0, -1.0]))
    assert number("THETA(1,2)", scope=opposed) == pytest.approx(math.pi)
    assert number("PSI(1,2)", scope=opposed) == pytest.approx(0.7)
    assert number("PHI(1,2)", scope=opposed) == 0
    # exact zeros, where the sine of a float is not
    up = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    vertical = _posed(A=_rotation(2, 0.7) @ up)
    assert number("PITCH(1,2)", scope=vertical) == pytest.approx(math.pi / 2)
    assert number("YAW(1,2)", scope=vertical) == pytest.approx(0.7)
    assert number("ROLL(1,2)", scope=vertical) == 0


POSES = {
    "same": np.eye(3),
    "z reversed": np.diag([1.0, -1.0, -1.0]),
    "x reversed": np.diag([-1.0, -1.0, 1.0]),
    "pitched up": np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    "pitched down": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "cyclic": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "rolled": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
}


@pytest.mark.parametrize("function", OF_MARKERS, ids=lambda f: f.name)
@pytest.mark.parametrize("pose", POSES)
def test_value_and_derivative_are_finite_in_singular_poses(function, pose):
    """Coincident origins, everything at rest, axes parallel, opposed and normal."""
    scope = Symbols()
    change = ca.SX.sym("change", 6, 4)  # translation and small rotation of every marker
    rates = ca.SX.sym("rates", 12, 4)
    for k in range(4):
        turn = ca.SX.eye(3) + ca.skew(change[3:, k])
        A = ca.mtimes(ca.DM(POSES[pose]) if k == 0 else ca.DM.eye(3), turn)
        v, w, a, al = ca.vertsplit(rates[:, k], 3)
        scope.markers[k + 1] = MarkerState(change[:3, k], A, v, w, a, al)
    value = parse(function.example).evaluate(scope)
    symbols = ca.vertcat(ca.vec(change), ca.vec(rates), *scope.symbols.values())
    f = ca.Function("f", [symbols], [value, ca.jacobian(value, symbols)])
    for numbers in f(ca.DM.zeros(symbols.shape)):
        assert np.all(np.isfinite(np.array(numbers)))


def test_small_distances_do_not_underflow_into_nan():
    scope = Symbols()
    r = ca.SX.sym("r", 3)
    scope.markers[1] = MarkerState(r, ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3))
    value = parse("DM(1) + THETA(1) + ATAN2(DX(1), DY(1))").evaluate(scope)
    f = ca.Function("f", [r], [value, ca.jacobian(value, r)])
    for size in (1e-300, 1e-170, 1e-155, 1e-20):
        assert all(np.all(np.isfinite(np.array(n))) for n in f([size, 0, 0]))


def test_no_warning_without_a_cause():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlantWarning)
        for function in FUNCTIONS.values():
            parse(re.sub(r"\bx\b", "TIME", function.example))
