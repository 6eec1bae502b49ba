"""Evaluate and integrate a plant alone, from its traced functions, with SciPy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from blocks.contract.memories import ContinuousState
from blocks.contract.trace import Traced, trace
from cosim.engines.reference.bound import Bound
from plant import Plant

DATA = Path(__file__).parents[1] / "data"


def deck(name: str) -> Path:
    """A deck of the tests by name."""
    return next(path for folder in ("plants", "models") if (path := DATA / folder / name).exists())


def reference(name: str) -> dict[str, Any]:
    """Published numbers of one problem."""
    return json.loads((DATA / "reference" / f"{name}.json").read_text())  # type: ignore[no-any-return]


class Alone:
    """A plant with its traced equations; inputs are constant numbers, memories keep their initial values."""

    def __init__(self, plant: Plant, parameters: Mapping[str, float] | None = None) -> None:
        self.plant = plant
        self.traced: Traced = trace(plant, {})
        self.declared = self.traced.declared
        values = self.traced.values(plant)
        chosen = {**values.parameters, **{k: np.array(v) for k, v in (parameters or {}).items()}}
        self.p = np.concatenate([np.zeros(0), *[np.ravel(chosen[q.name]) for q in self.declared.parameters]])
        self.own = np.concatenate([np.zeros(0), *values.initial.values()])
        self.states = self.declared.memories_of(ContinuousState)
        self.at = np.concatenate(
            [np.zeros(0, int), *[np.arange(*self.traced.slices[m.name].indices(10**9)) for m in self.states]]
        )
        self.x0 = self.own[self.at]
        self.ticks = np.zeros(2 * len(self.declared.ticks))

    def slice(self, name: str) -> slice:
        """Where a continuous state lies in x."""
        start = 0
        for m in self.states:
            if m.name == name:
                return slice(start, start + m.size)
            start += m.size
        raise KeyError(name)

    @cached_property
    def derivative_function(self) -> ca.Function:
        return self.traced.function("x'", ca.densify(ca.vertcat(*[m.expression for m in self.states])))

    def call(self, function: ca.Function, t: float, x: Any, u: Mapping[str, Any]) -> np.ndarray:
        own = self.own.copy()
        own[self.at] = x
        inputs = [np.atleast_1d(u.get(i.name, np.zeros(i.size))) for i in self.declared.inputs]
        return np.array(function(t, own, self.p, self.ticks, *inputs), dtype=float)

    @cached_property
    def _bound(self) -> tuple[Bound, list[np.ndarray]]:
        """x' bound to the arrays of its arguments: calls by values take ten times as long."""
        function = self.derivative_function
        arrays = [np.zeros(function.size1_in(k)) for k in range(function.n_in())]
        return Bound(function, arrays), arrays

    def derivative(self, t: float, x: Any, u: Mapping[str, Any] | None = None) -> np.ndarray:
        evaluate, (time, own, p, ticks, *inputs) = self._bound
        time[:], own[:], p[:], ticks[:] = t, self.own, self.p, self.ticks
        own[self.at] = x
        for declared, array in zip(self.declared.inputs, inputs, strict=True):
            array[:] = (u or {}).get(declared.name, 0.0)
        return evaluate().copy()

    def output(
        self, name: str, t: float = 0.0, x: Any = None, u: Mapping[str, Any] | None = None
    ) -> np.ndarray:
        (port,) = [o for o in self.declared.outputs if o.name == name]
        function = self.traced.function(f"y {name}", port.expression)
        return self.call(function, t, self.x0 if x is None else x, u or {}).ravel()

    def solve(
        self,
        times: Any,
        u: Callable[[float], Mapping[str, Any]] = lambda t: {},
        rtol: float = 1e-11,
        atol: float = 1e-12,
        x0: Any = None,
    ) -> np.ndarray:
        """States (n, len(times)) at `times`, which start with the initial time."""
        start = self.x0 if x0 is None else x0
        found = solve_ivp(
            lambda t, x: self.derivative(t, x, u(t)),
            (times[0], times[-1]),
            start,
            "DOP853",
            t_eval=times,
            rtol=rtol,
            atol=atol,
        )
        assert found.success
        return np.asarray(found.y)

    def jacobian(self, of: str, x: Any = None) -> np.ndarray:
        """Derivative of x' with respect to "x" or an input by name, at rest inputs."""
        traced = self.traced
        symbol = traced.own if of == "x" else next(i.symbol for i in self.declared.inputs if i.name == of)
        expression = ca.jacobian(ca.vertcat(*[m.expression for m in self.states]), symbol)
        function = ca.Function("J", traced.arguments, [ca.densify(expression)])
        found = self.call(function, 0.0, self.x0 if x is None else x, {})
        return found[:, self.at] if of == "x" else found
