"""Blocks made of a Python function: `Function` is traced, `PythonFunction` is called at run time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.pickling import HoldsFunctions
from blocks.contract.rate import Rate
from blocks.library.callables import OwnCopy, Saved
from blocks.library.persistent_data import named

__all__ = ["Function", "PythonFunction"]


@dataclass(frozen=True)
class Function(HoldsFunctions, Block):
    """A formula in plain NumPy, traced once into equations like those of any other block.

    Output: y = function(in...); with a sample time, taken at its ticks and held.  No states.
    Direct feedthrough: whatever the formula uses.

    function : takes 1-D arrays and returns a number or an array; its parameter names are the input ports,
        except those with a default value. It sees symbols: use ``np.sin``, ``np.where``, `blocks.functions`,
        never ``if`` on a signal; a function that cannot be written so is a `PythonFunction`.
    sample, offset : s; None means continuous

    Use::

        drag = d.add("drag", Function(lambda v: -0.3 * v * np.abs(v)))
        d.connect(source["y"], drag["v"])
    """

    function: Callable[..., Any]
    sample: Rate | None = None
    offset: Rate = 0

    def __post_init__(self) -> None:
        _check_callable(self)
        checks.rate(self, optional=True)
        if "y" in self._ports():
            hint = "Rename the parameter: the output is called y."
            raise checks.fault(self, "function", "has a parameter 'y'", "other names", hint)

    def _ports(self) -> list[str]:
        if isinstance(self.function, np.ufunc):
            n = self.function.nin
            return ["u"] if n == 1 else [f"in{k}" for k in range(1, n + 1)]
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError, OverflowError):
            hint = "Wrap it: Function(lambda u: f(u))."
            raise checks.fault(self, "function", "does not tell its parameters", "named ones", hint) from None
        open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        if any(p.kind in open_ended for p in parameters):
            raise checks.fault(self, "function", "takes *args or **kwargs", "one named parameter per input")
        return [p.name for p in parameters if p.default is inspect.Parameter.empty]

    def define(self, b: Equations) -> None:
        """Declare one input per parameter and trace the function."""
        y = self.function(*[b.input(port) for port in self._ports()])
        if y is None:
            raise checks.fault(
                self, "function", f"{named(self.function)} returned None", "a signal", "Add the return."
            )
        b.output("y", y, self.sample, self.offset)


@dataclass(frozen=True)
class PythonFunction(HoldsFunctions, Block):
    """Any Python function, called at its ticks and not looked into.

    Output: y_k = function(t_k, u_k), held between ticks; initial before the first one.
    Direct feedthrough: every input to every component of y, at ticks. No derivatives: linear models hold y.

    With sample=None it is part of the continuous equations, y = function(t, u), called at every evaluation,
    also at trial values the solver then rejects; direct feedthrough at all times. Its derivatives come from
    `jacobian`, else from central differences.

    Every run has its own: of an object with __call__, of the owner of a method, and of `memory` it takes a
    copy, as they are when it begins, so that runs side by side, a second run and a replay know nothing of
    each other. A plain function may keep nothing; one that does, in a variable outside itself, is refused.

    function : ``function(t, u) -> y``, t in s, u (n,) all inputs one after the other, y (size,)
    inputs : an int n for one port "u" of n components (0: no input), or {port: components}; structural
    size : components of y; structural
    sample, offset : s; None means continuous; structural
    initial : number or (size,); run-time number; of no use without a sample time
    jacobian : ``jacobian(t, u) -> dy/du``, (size, n); only without a sample time
    memory : object with ``save() -> bytes`` and ``load(bytes)`` that the function works on: one that it is a
        method of, that is a variable of it, or the function itself. Without it snapshots save the plain data
        of an object or of the owner of a method; where that has save() and load(), they are used

    Use::

        vote = d.add("vote", PythonFunction(lambda t, u: sorted(u)[1], inputs=3, sample=0.01))
        d.connect(source["y"], vote["u"])
    """

    function: Callable[[float, np.ndarray], Any]
    inputs: int | Mapping[str, int] = 1
    size: int = 1
    sample: Rate | None = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)
    memory: Saved | None = field(default=None, kw_only=True)
    jacobian: Callable[[float, np.ndarray], Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _check_callable(self)
        checks.rate(self, optional=True)
        self._check_kind()
        checks.assign(
            self,
            inputs=self._checked_inputs(),
            size=checks.count(self, "size"),
            initial=checks.numbers(self, "initial"),
        )
        if np.size(self.initial) not in (1, self.size):
            what = f"has {np.size(self.initial)} components"
            raise checks.fault(self, "initial", what, f"{self.size} as in size, or one number")
        memory: object = self.memory
        if memory is not None and not isinstance(memory, Saved):
            what = f"is a {type(memory).__name__}"
            raise checks.fault(self, "memory", what, "an object with save() -> bytes and load(bytes)")
        _check_arguments(self, "function", self.function)

    def _check_kind(self) -> None:
        if self.sample is None and self.memory is not None:
            hint = "Give it a sample time: a function that remembers cannot be called at trial values."
            raise checks.fault(self, "memory", "is given without a sample time", "None", hint)
        if self.jacobian is not None and (self.sample is not None or not callable(self.jacobian)):
            what = "is given with a sample time" if self.sample is not None else f"is {self.jacobian!r}"
            raise checks.fault(self, "jacobian", what, "a function, and only with sample=None")
        if self.jacobian is not None:
            _check_arguments(self, "jacobian", self.jacobian)

    def _checked_inputs(self) -> Any:
        """Inputs as ((port, components), ...)."""
        if isinstance(self.inputs, (int, np.integer)):
            components = checks.count(self, "inputs", least=0)
            return (("u", components),) if components else ()
        try:
            sizes = dict(self.inputs)
            checks.assign(self, inputs=tuple(sizes.values()))
            return tuple(zip(sizes, checks.counts(self, "inputs", least=1), strict=True)) if sizes else ()
        except (TypeError, ValueError, OverflowError):
            expected = 'a number of components or a dict such as {"u": 2}'
            raise checks.fault(self, "inputs", f"is {self.inputs!r}", expected) from None

    def define(self, b: Equations) -> None:
        """Declare ports and the call."""
        ports: Any = self.inputs  # pairs by now
        u = [b.input(port, size=components) for port, components in ports]
        joined = np.concatenate(u) if u else np.zeros(0)
        if self.sample is None:
            slope = None if self.jacobian is None else self._slope
            b.output("y", b.opaque("y", OwnCopy.call, joined, self.size, slope, make=self._own_copy))
            return
        y = b.external("y", self._own_copy, joined, self.size, self.sample, self.offset, self.initial)
        b.output("y", y)

    def _own_copy(self) -> OwnCopy:
        """The function of one run."""
        return OwnCopy(self.function, self.memory)

    def _slope(self, own: OwnCopy, t: float, u: np.ndarray) -> Any:
        assert self.jacobian is not None  # it is declared only then
        return self.jacobian(t, u)


def _check_callable(block: Function | PythonFunction) -> None:
    if not callable(block.function):
        text = isinstance(block.function, str)
        cure = f"Write {type(block).__name__}(lambda ...: {block.function})." if text else ""
        raise checks.fault(block, "function", f"is {block.function!r}", "a function", cure)


def _check_arguments(block: PythonFunction, field: str, function: Callable[..., Any]) -> None:
    """Can it be called with t and u? What does not tell its parameters is found at its first call."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(0.0, np.zeros(1))
    except TypeError:
        hint = "t is the time [s], u (n,) all inputs one after the other; both are always given."
        raise checks.fault(block, field, f"takes {signature}", "a function of (t, u)", hint) from None
