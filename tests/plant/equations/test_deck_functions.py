"""Every shaping function, intrinsic and spline in a deck, over time on both engines, beside plain Python."""

from __future__ import annotations

import math
from math import acos, asin, atan, atan2, cos, cosh, exp, log, log10, pi, sin, sinh, sqrt, tan, tanh

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, CubicSpline

from cosim import Diagram, simulate
from plant import Plant

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")

TIMES = np.array([0.25, 0.5, 0.77, 1.0, 1.3, 1.5, 1.5001, 1.9, 2.0, 2.6, 3.1, 3.9])
X = np.array([0, 0.5, 1, 1.7, 2.4, 3.0, 4.1, 5.0])
Y = np.array([0, 1, 0.5, -1, 2, 2.5, 0.3, -0.7])
CUBIC, AKIMA = CubicSpline(X, Y, bc_type="natural"), Akima1DInterpolator(X, Y)


def ramp(shape):
    def function(x, x0, h0, x1, h1):
        s = min(max((x - x0) / (x1 - x0), 0.0), 1.0)
        return h0 + (h1 - h0) * shape(s)

    return function


step, step5 = ramp(lambda s: s * s * (3 - 2 * s)), ramp(lambda s: s**3 * (10 - 15 * s + 6 * s * s))
havsin = ramp(lambda s: 0.5 + 0.5 * sin(pi * s - pi / 2))


def fourier(wave, x, x0, w, *a):
    return a[0] + sum(a[j] * wave(j * w * (x - x0)) for j in range(1, len(a)))


def sweep(x, a, x0, f0, x1, f1, dx):
    if x <= x0:
        cycles = f0 * x
    elif x < x1:
        cycles = f0 * (x - x0) + (f1 - f0) / (2 * (x1 - x0)) * (x - x0) ** 2 + f0 * x0
    else:
        cycles = f1 * x - (f1 - f0) / 2 * (x1 + x0)
    return step5(x, x0, 0, x0 + dx, 1) * a * sin(2 * pi * cycles)


def impact(x, xd, x1, k, e, c, d):
    return 0.0 if x >= x1 else max(0.0, k * (x1 - x) ** e - step(x, x1 - d, c, x1, 0) * xd)


def bistop(x, xd, x1, x2, k, e, c, d):
    if x > x2:
        return min(-k * (x - x2) ** e - step(x, x2, 0, x2 + d, c) * xd, 0.0)
    return impact(x, xd, x1, k, e, c, d)


def beyond(curve, slope, x):
    """A curve that goes on along its end tangents."""
    inside = min(max(x, X[0]), X[-1])
    return float(curve(inside)) + float(slope(inside)) * (x - inside)


def lines(x):
    k = min(max(int(np.searchsorted(X, x, "right")) - 1, 0), len(X) - 2)
    return Y[k] + (Y[k + 1] - Y[k]) / (X[k + 1] - X[k]) * (x - X[k])


EXPRESSIONS = {
    "STEP(TIME,1,2,2,5)": lambda t: step(t, 1, 2, 2, 5),
    "step(2-time, 0, 1, 1, 3)": lambda t: step(2 - t, 0, 1, 1, 3),
    "STEP(TIME,1.5,2,1.5,5)": lambda t: 2 if t < 1.5 else 5,
    "STEP(SIN(TIME),-.3,2,.8,5)": lambda t: step(sin(t), -0.3, 2, 0.8, 5),
    "STEP5(TIME,1,2,2,5)": lambda t: step5(t, 1, 2, 2, 5),
    "HAVSIN(TIME,1,2,2,5)": lambda t: havsin(t, 1, 2, 2, 5),
    "SHF(TIME,25D,PI,360D,30D,5)": lambda t: pi * sin(2 * pi * (t - math.radians(25)) - pi / 6) + 5,
    "FORCOS(TIME,.2,3,1,2,-1,.5)": lambda t: fourier(cos, t, 0.2, 3, 1, 2, -1, 0.5),
    "FORSIN(TIME,.2,3,1,2,-1,.5)": lambda t: fourier(sin, t, 0.2, 3, 1, 2, -1, 0.5),
    "POLY(TIME,.3,1,-2,3,.5,.1)": lambda t: np.polyval([0.1, 0.5, 3, -2, 1], t - 0.3),
    "CHEBY(TIME,1.5,1,-2,3,.5,.1)": lambda t: np.polynomial.chebyshev.chebval(t - 1.5, [1, -2, 3, 0.5, 0.1]),
    "SWEEP(TIME,2,.5,1,2,3,.4)": lambda t: sweep(t, 2, 0.5, 1, 2, 3, 0.4),
    "IMPACT(SIN(2*TIME),2*COS(2*TIME),.2,100,1.5,3,.1)": (
        lambda t: impact(sin(2 * t), 2 * cos(2 * t), 0.2, 100, 1.5, 3, 0.1)
    ),
    "BISTOP(SIN(2*TIME),2*COS(2*TIME),-.6,.7,100,1.5,3,.1)": (
        lambda t: bistop(sin(2 * t), 2 * cos(2 * t), -0.6, 0.7, 100, 1.5, 3, 0.1)
    ),
    "IF(TIME-1.3: 2, 7, TIME**2)": lambda t: 2 if t < 1.3 else t**2,
    "IF(SIN(3*TIME): -1, 0, COS(TIME))": lambda t: -1 if sin(3 * t) < 0 else cos(t),
    "AINT(3*SIN(TIME))": lambda t: math.trunc(3 * sin(t)),
    "ANINT(3*SIN(TIME))": lambda t: math.copysign(math.floor(abs(3 * sin(t)) + 0.5), sin(t)),
    "MOD(-7*TIME,2)": lambda t: math.fmod(-7 * t, 2),
    "MOD(7*TIME,-2.5)": lambda t: math.fmod(7 * t, -2.5),
    "SIGN(TIME+1,SIN(3*TIME))": lambda t: math.copysign(t + 1, sin(3 * t)),
    "DIM(TIME,1.2)": lambda t: max(t - 1.2, 0),
    "MAX(TIME,2-TIME)": lambda t: max(t, 2 - t),
    "MIN(TIME,2-TIME,0.7)": lambda t: min(t, 2 - t, 0.7),
    "ATAN2(SIN(3*TIME),COS(3*TIME))": lambda t: atan2(sin(3 * t), cos(3 * t)),
    "-2**2*TIME": lambda t: -4 * t,
    "2**3**0.5*TIME": lambda t: 2 ** (3**0.5) * t,
    "TIME**2/4*3": lambda t: t**2 / 4 * 3,
    "ASIN(SIN(TIME)/2) + ACOS(COS(TIME)*.9)": lambda t: asin(sin(t) / 2) + acos(cos(t) * 0.9),
    "ATAN(TIME) + COSH(TIME)-SINH(TIME)+TANH(TIME)": lambda t: atan(t) + cosh(t) - sinh(t) + tanh(t),
    "EXP(-TIME)*LOG(1+TIME)+LOG10(2+TIME)": lambda t: exp(-t) * log(1 + t) + log10(2 + t),
    "SQRT(TIME)+TAN(TIME/3)+ABS(TIME-1)": lambda t: sqrt(t) + tan(t / 3) + abs(t - 1),
    "RTOD*30D+DTOR": lambda t: 30 + pi / 180,
    "30D-5": lambda t: math.radians(30) - 5,
    "+TIME - -TIME": lambda t: 2 * t,
    "CUBSPL(TIME,0,1)": CUBIC,
    "CUBSPL(TIME,0,1,1)": lambda t: CUBIC(t, 1),
    "CUBSPL(TIME,0,1,2)": lambda t: CUBIC(t, 2),
    "AKISPL(TIME,0,1)": AKIMA,
    "AKISPL(TIME,0,1,1)": lambda t: AKIMA(t, 1),
    "LINSPL(6*SIN(TIME),0,2)": lambda t: lines(6 * sin(t)),
    "CUBSPL(2+4*SIN(TIME),0,2)": lambda t: beyond(CUBIC, CUBIC.derivative(), 2 + 4 * sin(t)),
    "VARVAL(900)*2 + ARYVAL(1,2)": lambda t: 2 * (t + 1) + 7,
    "ARYVAL(2,1)": lambda t: t + 1,
    "VARVAL(901)": lambda t: 1 - exp(-t),
}


def deck() -> bytes:
    points = " ".join(f"{x} {y}" for x, y in zip(X, Y, strict=True))
    variables = "".join(
        f'<Reference_Variable id="{k}" expr="{text}"/>' for k, text in enumerate(EXPRESSIONS, start=1)
    )
    listed = " ".join(str(k + 1) for k in range(len(EXPRESSIONS)))
    return f"""<Any><Model>
    <Body_Rigid id="1" IsGround="true"/>
    <Reference_Spline id="1" num_xy_pair="{len(X)}">{points}</Reference_Spline>
    <Reference_Spline id="2" linear_extrap="TRUE">{points}</Reference_Spline>
    <Reference_Array id="1" type="IC" num_element="3">5.0 7.0 9</Reference_Array>
    <Reference_Array id="2" type="U" num_element="1">900</Reference_Array>
    <Reference_Variable id="900" expr="TIME + 1"/>
    <Reference_Variable id="901" expr="1 - VARVAL(901)" dot_form="true" ic="0"/>
    {variables}
    <Control_PlantOutput id="1" label="y" variable_id_list="{listed}"/>
    </Model></Any>""".encode()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_functions_over_time(engine):
    d = Diagram("functions")
    d.add("plant", Plant.read(deck()))
    y = simulate(d, until=3.9, log_at=TIMES, engine=engine, rtol=1e-10, atol=1e-12)["plant.y"]
    for k, (text, value) in enumerate(EXPRESSIONS.items()):
        assert y[:, k] == pytest.approx([float(value(t)) for t in TIMES], rel=1e-9, abs=1e-9), text
