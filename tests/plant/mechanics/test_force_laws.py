"""Laws of forces between two frames: along their line, in space and where it is a line of their own."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from plant.mechanics.force_laws import Span, SpringDamper, TorsionSpring, distance

K, C, FREE, PRELOAD = 7.0, 0.5, 0.4, 2.0


def frames(r, v, symbols=(0, 1, 2)):
    """I at r with velocity v, in the components that are symbols, J at rest in the origin; and a function."""
    R, V = ca.SX.sym("r", 3), ca.SX.sym("v", 3)
    own = lambda S: ca.sparsify(ca.vertcat(*[S[k] if k in symbols else 0 for k in range(3)]))
    nothing = ca.SX(3, 1)
    I = SimpleNamespace(r=own(R), v=own(V), A=ca.SX.eye(3), w=nothing)
    J = SimpleNamespace(r=nothing, v=nothing, A=ca.SX.eye(3), w=nothing)
    value = lambda e: np.array(ca.Function("f", [R, V], [ca.densify(ca.SX(e))])(r, v)).ravel()
    return I, J, value


@pytest.mark.parametrize(
    ("r", "v", "symbols"),
    [
        ([0.3, -0.4, 1.2], [1.0, 2.0, -0.5], (0, 1, 2)),
        ([0.0, 0.5, 0.0], [0.0, 3.0, 0.0], (1,)),
        ([0.0, 0.0, -0.5], [0.0, 0.0, 3.0], (2,)),
    ],
)
def test_along_the_line_of_centres(r, v, symbols):
    """F = -k (L - free) - c L' + preload along d / L, with L' = v . d / L."""
    I, J, value = frames(r, v, symbols)
    L = np.linalg.norm(r)
    direction, rate = np.array(r) / L, np.dot(v, r) / L
    span = Span(I, J)
    assert value(span.direction) == pytest.approx(direction, abs=1e-15)
    assert value(span.length) == pytest.approx([L]) and value(span.rate) == pytest.approx([rate])
    assert value(distance(I.r)) == pytest.approx([L])
    F = (-K * (L - FREE) - C * rate + PRELOAD) * direction
    (on_I, T_I), (on_J, T_J) = SpringDamper(K, C, FREE, PRELOAD)(ca.SX(0), [I, J])
    assert value(on_I) == pytest.approx(F) and value(on_J) == pytest.approx(-F)
    assert not value(T_I).any() and not value(T_J).any()


@pytest.mark.parametrize(("field", "expected"), [("stiffness", -0.5), ("damping", -3.0), ("preload", 1.0)])
def test_numbers_left_out_are_zero(field, expected):
    """At 0.5 from J, moving away at 3, each number by itself."""
    I, J, value = frames([0.5, 0.0, 0.0], [3.0, 0.0, 0.0])
    force = SpringDamper(**{field: 1.0})(ca.SX(0), [I, J])[0][0]
    assert value(force) == pytest.approx([expected, 0.0, 0.0])
    turned = SimpleNamespace(
        r=J.r, v=J.v, w=ca.SX([0.0, 0.0, 3.0]),
        A=ca.SX([[np.cos(0.5), -np.sin(0.5), 0.0], [np.sin(0.5), np.cos(0.5), 0.0], [0.0, 0.0, 1.0]]),
    )  # fmt: skip
    torque = TorsionSpring(**{field: 1.0})(ca.SX(0), [turned, J])[0][1]
    assert value(torque) == pytest.approx([0.0, 0.0, expected])


def test_a_sign_of_a_distance_on_a_line_has_no_slope_through_zero():
    """Where the frames coincide on a line a spring at rest exerts nothing, and a damper what it should."""
    I, J, value = frames([0.0, 0.0, 0.0], [0.0, 3.0, 0.0], (1,))
    assert value(Span(I, J).direction) == pytest.approx([0.0, 0.0, 0.0])
    assert value(SpringDamper(K, C)(ca.SX(0), [I, J])[0][0]) == pytest.approx([0.0, -3.0 * C, 0.0])
    assert np.isnan(value(SpringDamper(K, C, FREE)(ca.SX(0), [I, J])[0][0])[1])
