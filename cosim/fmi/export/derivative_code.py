"""Derivatives of an exported model as functions, found by differentiation: along a direction, and adjoint.

Both are of the derivatives of all states, all shown signals and all crossings, with respect to states, time,
inputs and parameters, in these orders; unknowns of loops move along. What is given besides the arguments of a
system stands behind the states, as for the stiff method.
"""

from __future__ import annotations

import casadi as ca

from cosim.columns import pick, stack
from cosim.system import System


def forward(system: System, shown: ca.SX, inputs: list[int]) -> ca.Function:
    """(t, [x, dx, dt, du, dp], h, w, p) -> (nx + n_shown + n_events,) rates along that direction.

    shown : expressions of the shown signals; inputs : places in h
    """
    s = system
    every, known = _results(s, shown), _known(s, inputs)
    direction = ca.SX.sym("d", known.numel())
    value = ca.jtimes(every, known, direction)
    z = _unknowns(s)
    if z.numel():
        along = ca.jtimes(s.residual, known, direction)
        value -= ca.jtimes(every, z, ca.solve(ca.jacobian(s.residual, z), along))
    return _function(s, direction, value)


def adjoint(system: System, shown: ca.SX, inputs: list[int]) -> ca.Function:
    """(t, [x, weights of all results], h, w, p) -> (nx + 1 + nu + np,) the weighted sum's derivatives."""
    s = system
    every, known = _results(s, shown), _known(s, inputs)
    weights = ca.SX.sym("l", every.numel())
    value = ca.jtimes(every, known, weights, True)
    z = _unknowns(s)
    if z.numel():
        through = ca.solve(ca.jacobian(s.residual, z).T, ca.jtimes(every, z, weights, True))
        value -= ca.jtimes(s.residual, known, through, True)
    return _function(s, weights, value)


def _results(s: System, shown: ca.SX) -> ca.SX:
    crossings = stack(e.crossing for e in s.events)
    return ca.densify(ca.vertcat(ca.SX(0, 1), s.derivative, shown, crossings))


def _known(s: System, inputs: list[int]) -> ca.SX:
    return ca.vertcat(s.x, s.t, pick(s.h, inputs), s.p)


def _unknowns(s: System) -> ca.SX:
    return s.w[: s.residual.numel()]


def _function(s: System, beside: ca.SX, value: ca.SX) -> ca.Function:
    return ca.Function("f", [s.t, ca.vertcat(s.x, beside), s.h, s.w, s.p], [ca.densify(value)])
