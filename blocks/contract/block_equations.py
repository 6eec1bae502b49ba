"""The calls with which a block declares its ports, numbers, states, equations and events: `Equations`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from blocks.arguments import flag, is_number
from blocks.contract.callback import FUNCTION, PythonCall
from blocks.contract.declaration_checks import (
    count_of,
    functions_of,
    name_of,
    not_negative,
    positive,
    text_of,
    texts_of,
    typical_sizes,
)
from blocks.contract.declared import Input, Output, Parameter, PortHold, SampleHistory, Term, ValueRange
from blocks.contract.instance import Make
from blocks.contract.memories import (
    AcceptedMemory,
    Afterwards,
    Conditional,
    ContinuousState,
    DelayedSignal,
    DiscreteState,
    External,
    ExternalOutput,
    Memory,
    NearestValue,
    SampledMemory,
    Slope,
)
from blocks.contract.rate import Rate, Ticks
from blocks.contract.symbols import Array, as_array, as_scalar, column
from blocks.contract.tick_equations import TickEquations
from blocks.contract.units import Units, UnitText
from blocks.errors import BlockError, near_miss, shown

STATIC = ("solve", "hold", "zero")


class Equations(TickEquations):
    """Collects what a block declares while it is traced. These calls are the whole block contract.

    Signals, states and memories are 1-D arrays of shape (size,); scalar parameters and ``time`` have
    shape (). Expressions passed to these calls are flattened, and their sizes are checked.

    What several calls take:

    sample, offset : exact seconds [s] as numbers or texts; ticks are at offset + k sample. A `Ticks` as
        `sample` has both
    initial : number, or (size,), before the first tick, step or past
    name : of the memory in logs, snapshots and messages
    labels : names of the components, in plots and tables

    All raise `BlockError` where names, sizes or numbers are wrong.

    Parameters
    ----------
    sizes : dict            size of each input, where known
    fields : dict           the dataclass fields by name, to recognise which are run-time numbers
    guess : int or None     size to give an input nothing is known of; once one is guessed, checks are lenient
    """

    # --- ports ------------------------------------------------------------------------------------
    def input(
        self,
        name: str,
        size: int | None = None,
        hold: PortHold | None = None,
        labels: Sequence[str] = (),
        unit: Units = "",
        unconnected: Sequence[float] | np.ndarray | None = None,
    ) -> Array:
        """Input port; `size=None` takes the size of what is connected. Returns (size,).

        hold : sampling and extrapolation that the port asks for, as plant inputs do; default none
        unit : the unit expected of the connected signal, such as "N*m"; one per component, or for all
        unconnected : (size,) its value where it is left open on purpose; default zeros
        """
        self._unique(name, self._inputs, "input")
        known = self._sizes.get(name)
        if size is None:
            if known is None:
                if self._guess is None:
                    raise BlockError(f"the size of input '{name}' is not known.", port=name)
                self.guessed = True
            actual = known if known is not None else int(self._guess or 1)
        else:
            actual = count_of(size, name)
        symbol = self._symbol(name, actual)
        units = self._units(unit, f"input '{name}'", actual)
        value = None if unconnected is None else tuple(map(float, unconnected))
        named = self._labels(labels, name, actual)
        self._inputs[name] = Input(name, actual, size is None, hold, symbol, named, units, value)
        return as_array(symbol)

    def output(
        self,
        name: str,
        expression: Any,
        sample: Rate | Ticks | None = None,
        offset: Rate = 0,
        initial: Any = 0.0,
        labels: Sequence[str] = (),
        auxiliary: bool = False,
        unit: Units = "",
    ) -> None:
        """Output port. With `sample` it is refreshed at its ticks and held in between, else continuous.

        initial : of a sampled one, before its first tick
        unit : of its values, as "rad/s"; one per component, or for all
        An `auxiliary` output is logged, but is not part of the block's linear model.
        """
        self._unique(name, self._outputs, "output")
        value = column(expression, f"output '{name}'")
        if sample is None:
            if not is_number(offset) or offset != 0:
                raise BlockError(
                    f"offset of output '{name}' is {shown(offset)}, which belongs to sampled outputs.",
                    value=offset,
                    hint="Give it sample=, or leave offset out.",
                )
            if not (is_number(initial) and initial == 0):
                raise BlockError(
                    f"initial of output '{name}' is {shown(initial)}, which belongs to sampled outputs: "
                    "others are their expression from the start on.",
                    value=initial,
                    hint="Give it sample=, or leave initial out.",
                )
        else:
            ticks = self._ticks(sample, offset)
            value = column(self._sampled(f"{name}@sampled", value, ticks, initial, output=name))
        units = self._units(unit, f"output '{name}'", int(value.numel()))
        named = self._labels(labels, name, int(value.numel()))
        hidden = flag(auxiliary, f"auxiliary of output '{name}'", BlockError)
        self._outputs[name] = Output(name, value, named, hidden, units)

    # --- numbers ----------------------------------------------------------------------------------
    def parameters(self, **values: Any) -> list[Array]:
        """Tunable numbers, in the order given: scalars of shape (), arrays in their own shape."""
        return [self.parameter(name, value) for name, value in values.items()]

    def parameter(
        self, name: str, value: Any, unit: UnitText = "", aliases: Sequence[str] = (), full: bool = False
    ) -> Array:
        """One tunable number or array, known by its `aliases` too. Zeros of a matrix stay 0 unless `full`.

        unit : of all its numbers, as "kg*m^2"
        """
        self._unique(name, self._parameters, "parameter")
        array = self._numbers(name, value)
        full = flag(full, f"full of parameter '{name}'", BlockError)
        mask = array != 0 if array.ndim >= 2 and not full else np.ones(array.shape, dtype=bool)
        symbol = self._symbol(name, int(mask.sum()))
        self._parameters[name] = Parameter(
            name,
            array,
            mask,
            self._field_of(value),
            symbol,
            self._unit(unit, name),
            texts_of(aliases, f"aliases of parameter '{name}'"),
        )
        return self._shaped(symbol, mask)

    # --- states and memories ----------------------------------------------------------------------
    def continuous(
        self,
        name: str,
        initial: Any,
        size: int | None = None,
        static: str = "solve",
        nominal: float | Sequence[float] | Array | Callable[..., ArrayLike] = 1.0,
        labels: Sequence[str] = (),
        part: str = "",
        velocity_of: Array | None = None,
    ) -> Array:
        """ODE state. A scalar initial value expands to `size`. Give its equation with `derivative`.

        static : in an equilibrium "solve" x' = 0, "hold" x at its initial value, or "zero" (a rate)
        nominal : typical size, or that of each component; the absolute tolerance is multiplied by it. Where
            it depends on tunable numbers it is an expression of what `parameters` returned, or a function of
            their arrays by name, ``nominal=lambda k, **_: 1.0 / k``: it is found anew when they are set, and
            counts as 1 where it is no number above 0
        part : component of the block it belongs to, such as a joint; rates belong to the coordinates of
            their part
        velocity_of : place of a body these are the velocities of, see `ContinuousState`
        """
        if static not in STATIC:
            raise BlockError(f"state '{name}': static='{static}', {near_miss(static, STATIC)}")
        owner = text_of(part, f"part of state '{name}'")
        more = {"static": static, "labels": labels, "part": owner, "velocity_of": self._place(velocity_of)}
        state = self._memory(ContinuousState, name, initial, size, **more)
        memory = self._memories[name]
        assert isinstance(memory, ContinuousState)  # just made
        self._fits_place(memory)
        parameters = ca.vertcat(ca.SX(0, 1), *[q.symbol for q in self._parameters.values()])
        self._memories[name] = replace(memory, nominal=typical_sizes(nominal, memory.size, name, parameters))
        return state

    def derivative(self, state: Array, expression: Any) -> None:
        """Give x' of a continuous state."""
        self._complete(state, ContinuousState, expression, "derivative")

    def discrete(
        self,
        name: str,
        initial: Any,
        sample: Rate | Ticks,
        offset: Rate = 0,
        size: int | None = None,
        labels: Sequence[str] = (),
    ) -> Array:
        """State that changes at its ticks, in the update phase. Give its next value with `update`."""
        ticks = self._ticks(sample, offset)
        return self._memory(DiscreteState, name, initial, size, ticks=ticks, labels=labels)

    def update(self, state: Array, expression: Any) -> None:
        """Give x[k+1] of a discrete state from the values at tick k."""
        self._complete(state, DiscreteState, expression, "update")

    def sample_history(self, newest: Array, older: Sequence[Array]) -> None:
        """Declare discrete states as the older samples of a sampled memory, the newest of them first.

        All have the ticks and the size of `newest`. In a steady state they are equal to it, which linear
        models assume. `sample_count` tells how many of them are valid; events restart it.
        """
        now = self._memories[self._name_of(newest, "a history of samples")]
        states = [self._memories[self._name_of(state, "a history of samples")] for state in older]
        kinds: list[type[Memory]] = [SampledMemory, *(DiscreteState for _ in states)]
        for m, kind in zip([now, *states], kinds, strict=True):
            if not isinstance(m, kind) or (m.rate, m.size) != (now.rate, now.size):
                raise BlockError(
                    f"'{m.name}' in the history of '{now.name}' is {m.word} with {m.size} components at "
                    f"{m.rate}, expected {kind.word} with {now.size} at {now.rate}."
                )
        assert now.rate is not None  # a sampled memory has one
        self._histories.append(SampleHistory(now.name, tuple(m.name for m in states), now.rate))

    def external(
        self,
        name: str,
        make: Make,
        argument: Any,
        size: int,
        sample: Rate | Ticks,
        offset: Rate = 0,
        initial: Any = 0.0,
        about: str = FUNCTION,
    ) -> Array:
        """Output of an opaque function that is called at ticks: y = call(t, u).

        ``make()`` gives every run an `Instance` of its own, which is called, saved, loaded and closed with
        the run. `about` names it in messages.
        """
        return self._memory(
            ExternalOutput,
            name,
            initial,
            size,
            ticks=self._ticks(sample, offset),
            block=External(make, column(argument), about),
        )

    def opaque(
        self,
        name: str,
        function: Callable[..., Any],
        argument: Any,
        size: int,
        jacobian: Callable[..., Any] | None = None,
        hessian: Callable[..., Any] | None = None,
        make: Callable[[], Any] | None = None,
        about: str = FUNCTION,
        compiled: Callable[..., Any] | None = None,
        by_time: Callable[..., Any] | None = None,
    ) -> Array:
        """A pure Python function inside continuous equations: y = function(t, u), (size,).

        It is called at every evaluation, also with trial values, so it must not keep anything between calls.
        ``jacobian(t, u)`` gives dy/du, (size, n); without it CasADi takes central differences. Beside it
        ``by_time(t, u)`` gives dy/dt, (size,), which is differenced otherwise, with calls at t -+ 1e-6 s.
        ``hessian(t, u)`` gives d2y/du2, (size, n, n), of a function that does not use t. Compiled code calls
        it as well.

        ``make()`` makes an instance for a run, once for all calls that share it; functions then take it as
        their first argument, ``function(instance, t, u)``. An instance with ``save() -> bytes`` and
        ``load(bytes)`` is part of snapshots; ``close()`` is called at the end. `about` names it in messages.
        ``compiled(instance, interrupt)`` gives what the native engine may call instead, or None, see
        `PythonCall`.
        """
        u = column(argument)
        if not callable(function):
            raise BlockError(f"function of '{name_of(name, 'an opaque function')}' is {shown(function)}.")
        functions_of(name, jacobian=jacobian, hessian=hessian, make=make, compiled=compiled, by_time=by_time)
        width, about = count_of(size, name), text_of(about, f"about of '{name}'")
        n = int(u.numel())
        call = PythonCall(name, function, n, width, jacobian, hessian, make, about, compiled, by_time)
        self._calls.append(call)
        (value,) = call.call([self._time, u], False, True)
        return as_array(value)

    def accepted(
        self, name: str, expression: Any, initial: Any, size: int | None = None, nearest: bool = False
    ) -> Array:
        """Memory that takes the value of `expression` after every accepted step and event.

        `expression` may be a function of the memory itself: ``lambda old: np.maximum(old, u)``.

        nearest : of several values, as of an angle, it takes that which is nearest to the old one: whoever
            looks for an equilibrium follows it on the way there, and ``initial=`` may set it
        """
        width = size if callable(expression) else column(expression).numel()
        kind = NearestValue if flag(nearest, "nearest", BlockError) else AcceptedMemory
        array = self._memory(kind, name, initial, width)
        value = expression(array) if callable(expression) else expression
        self._complete(array, AcceptedMemory, value, "accepted value")
        return array

    def private(self, *memories: Array) -> None:
        """Declare that memories are of use to these equations only: no signals, not set by ``initial=``."""
        for memory in memories:
            name = self._name_of(memory, "private")
            self._memories[name] = replace(self._memories[name], private=True)

    def conditional(
        self, name: str, initial: Any, value: Any, ticks: Ticks | None = None, start: Any = None
    ) -> Array:
        """Memory refreshed in the output phase of `ticks`, or (None) of every instant and after its events.

        ``value(old)`` gives its new value from the old one; `start` what it is before the first instant,
        found there; without it `initial`. For the framework's own blocks around conditional parts.
        """
        first = None if start is None else column(start)
        size = None if first is None else first.numel()
        array = self._memory(Conditional, name, initial, size, ticks=ticks, start=first)
        self._complete(array, Conditional, value(array), "value")
        return array

    def afterwards(
        self, name: str, initial: Any, value: Any, ticks: Ticks | None = None, start: Any = None
    ) -> Array:
        """Like `conditional`, but it changes last at an instant."""
        first = None if start is None else column(start)
        array = self._memory(Afterwards, name, initial, None, ticks=ticks, start=first)
        self._complete(array, Afterwards, value(array), "value")
        return array

    def delayed(
        self,
        expression: Any,
        seconds: Any,
        initial: Any = 0.0,
        name: str | None = None,
        shortest: float = 0.0,
        longest: float = 0.0,
    ) -> Array:
        """The value of `expression` so many seconds ago; `initial` before there is a past.

        If `seconds` changes during a run, it must stay within `shortest` and `longest` [s]: no step is
        longer than `shortest`, and the past is kept for `longest`.
        """
        value, label = column(expression), name or f"delayed{len(self._memories)}"
        limits = {
            "shortest": not_negative(shortest, f"shortest of '{label}'"),
            "longest": not_negative(longest, f"longest of '{label}'"),
        }
        array = self._memory(DelayedSignal, label, initial, value.numel(), seconds=column(seconds), **limits)
        self._complete(array, DelayedSignal, value, "delayed signal")
        return array

    def slope(
        self,
        expression: Any,
        name: str | None = None,
        assuming: Sequence[tuple[Array, float]] = (),
        exact: bool = False,
    ) -> Array:
        """How fast `expression` changes along the solution, per s: its exact derivative by time.

        It may be used in crossings and resets of events, in derivatives of continuous states and, for
        expressions without unknowns, in residuals. Values held between instants count as constant, and so do
        delayed signals.

        assuming : unknowns of this block, with numbers that replace their values
        exact : in residuals: a delayed signal is refused
        """
        value = column(expression)
        taken = tuple((self._name_of(unknown, "an assumption"), float(v)) for unknown, v in assuming)
        label = name or f"slope{len(self._memories)}"
        exact = flag(exact, f"exact of '{label}'", BlockError)
        array = self._memory(Slope, label, 0.0, value.numel(), assuming=taken, exact=exact)
        self._complete(array, Slope, value, "expression of a slope")
        return array

    def invariant(self, expression: Any, tolerance: float = 1e-13, what: str | Sequence[str] = "") -> None:
        """Expression kept at zero by projecting the continuous states.

        After every accepted step, and at every logged instant, the states are corrected if the expression
        exceeds a tenth of `tolerance`: by `correction` if it is given, else by the smallest change of this
        block's states. A run ends with an error after a step whose end cannot be brought nearer than 1e8
        times the tolerance, as where a mechanism is driven beyond its reach; `what` says there which
        invariant that is, or one text per component.
        """
        g = column(expression)
        names = (what,) * g.numel() if isinstance(what, str) else tuple(what)
        if len(names) != g.numel() or not all(isinstance(name, str) for name in names):
            raise BlockError(f"invariant(what={what!r}): expected a text, or one for each of {g.numel()}.")
        self._invariants.append((g, positive(tolerance, "tolerance of an invariant"), names))

    def log_states(self) -> None:
        """The continuous states are in the log of every run whose signals are not chosen, beside the outputs.

        For blocks that are drawn from their states, such as plants.
        """
        self._states_logged = True

    def rounding_matters(self, factor: float) -> None:
        """Near singular states of the invariants, demand no more of steps than rounding permits.

        For invariants whose rank drops at singular states, such as those of closed loops in a stretched
        pose. When a step fails its tolerances, its start is moved by one last digit and projected back onto
        the invariants; `factor` times the resulting change is not counted as an error of the step. Without
        this call every error above the tolerances counts.
        """
        self._rounding = not_negative(factor, "the factor of rounding_matters")

    def correction(self, state: Array, expression: Any) -> None:
        """What to add to a continuous state to bring the invariants of this block (nearly) to zero.

        A Gauss-Newton step, repeated until the tolerances hold. If one state of a block has a correction,
        all corrections of the block must be given this way.
        """
        memory = self._memories[self._name_of(state, "a correction")]
        if not isinstance(memory, ContinuousState):
            raise BlockError(f"correction given for '{memory.name}', which is no continuous state.")
        value = self._sized(expression, memory.size, f"correction of '{memory.name}'")
        self._memories[memory.name] = replace(memory, correction=value)

    @property
    def time(self) -> Array:
        """t [s], shape ()."""
        return as_scalar(self._time)

    def term(self, text: str, expression: Any) -> None:
        """Name a part of the equations; on a non-finite value the first bad term is reported by `text`."""
        self._terms.append(Term(text, column(expression)))

    def meant_within(self, value: Any, low: float, high: float, what: str, otherwise: str) -> None:
        """Warn at the end of a run in which a scalar was beyond [low, high] at a logged instant.

        what : names the value; otherwise : what happens beyond, and what to do. The run takes no notice.
        """
        expression = self._sized(value, 1, what)
        self._ranges.append(ValueRange(what, expression, float(low), float(high), otherwise))
