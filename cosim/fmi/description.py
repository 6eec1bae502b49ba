"""A model description in neutral terms: variables, types, units, structure and capabilities.

Types are called as FMI 3.0 calls them; of FMI 2.0, Real is Float64 and Integer is Int32. Names are unique;
sizes of arrays are those of the structural parameters' start values, or of the values given to `sized`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from blocks.contract.derived import Derived
from blocks.errors import near_miss
from cosim.fmi.fmi_errors import FMUError

FLOATS = ("Float64", "Float32")
INTEGERS = ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Enumeration")
NUMERIC = (*FLOATS, *INTEGERS, "Boolean")
"""Types whose values are numbers on wires."""

PARAMETERS = ("parameter", "structuralParameter")
MOST_NUMBERS = 2**28  # of one array, 2 GB


@dataclass(frozen=True, slots=True)
class Dimension:
    """One extent of an array: `start`, or the value of the variable `source`."""

    start: int
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ClockTiming:
    """The timing of a clock in its description.

    kind : intervalVariability: "constant", "fixed", "tunable", "changing", "countdown" or "triggered"
    interval, shift : [s], exact; interval None where the FMU itself says it, or nobody knows it before
    priority : of clocks that tick at one instant, the lowest number first
    """

    kind: str
    interval: Fraction | None = None
    shift: Fraction = Fraction(0)
    priority: int | None = None

    @property
    def periodic(self) -> bool:
        """Whether the clock ticks periodically."""
        return self.kind in ("constant", "fixed", "tunable")

    @property
    def interval_settable(self) -> bool:
        """Whether the user may choose its interval."""
        return self.kind in ("fixed", "tunable") and self.interval is not None


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable, array or not.

    name, reference : reference is the standard's value reference
    type : "Float64", "Int32", "Boolean", "Enumeration", "String", "Binary", "Clock", ...
    causality, variability, initial : the standard's words; initial is "" where the standard has none
    start : value before initialisation: number, text, bytes, a tuple of them for arrays, None if not given
    shape : () of a scalar
    items : of an enumeration, value -> name
    derivative_of : the state that this is the derivative of
    line : in modelDescription.xml
    """

    name: str
    reference: int
    type: str
    causality: str
    variability: str
    initial: str = ""
    start: Any = None
    shape: tuple[int, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    unit: str = ""
    display_unit: str = ""
    quantity: str = ""
    relative_quantity: bool = False
    minimum: float | None = None
    maximum: float | None = None
    nominal: float | None = None
    declared_type: str = ""
    items: Mapping[int, str] = field(default_factory=dict, hash=False)
    description: str = ""
    derivative_of: str | None = None
    reinit: bool = False
    clocks: tuple[str, ...] = ()
    clock: ClockTiming | None = None  # of a Clock
    intermediate_update: bool = False
    multiple_sets: bool = True  # whether it may be set more than once at one instant
    alias_of: str | None = None
    max_size: int | None = None  # size of a Binary in bytes
    line: int | None = None

    @property
    def continuous(self) -> bool:
        """Whether it is a real number that moves, or may be set, between events."""
        return self.type in FLOATS and self.variability == "continuous"

    @property
    def size(self) -> int:
        """Number of scalars, row-major."""
        return math.prod(self.shape)

    @property
    def is_resized(self) -> bool:
        """Whether it is an array of given numbers whose start value in the description has another size."""
        own = self.start if isinstance(self.start, tuple) else ()
        other = len(own) > 0 and len(own) != self.size and len(set(own)) > 1
        return other and self.numeric and self.is_start_settable and self.size > 0

    @property
    def listed_items(self) -> str:
        """The items of an enumeration, for a message: "1 (off), 2 (on)"."""
        return ", ".join(f"{number} ({name})" for number, name in self.items.items())

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers that wires can carry."""
        return self.type in NUMERIC

    @property
    def is_start_settable(self) -> bool:
        """Whether it may be set before initialisation; for a clock, its interval [s]."""
        if self.clock is not None:
            return self.clock.interval_settable and self.causality == "input"
        if self.variability == "constant" or self.causality == "independent":
            return False
        return self.causality in ("input", *PARAMETERS) or self.initial in ("exact", "approx")


@dataclass(frozen=True, slots=True)
class Dependent:
    """An entry of the model structure: a variable and what it depends on, None for everything."""

    name: str
    dependencies: tuple[str, ...] | None = None
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as SI base units with exponents: base value = factor * value + offset."""

    name: str
    exponents: Mapping[str, int] | None = None  # "kg", "m", "s", "A", "K", "mol", "cd", "rad"; None: unknown
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Interface:
    """One kind of an FMU ("cs", "me" or "se") with its capabilities, all of which default to no."""

    kind: str
    identifier: str
    needs_execution_tool: bool = False
    only_once_per_process: bool = False
    can_get_and_set_state: bool = False
    can_serialize_state: bool = False
    directional_derivatives: bool = False
    adjoint_derivatives: bool = False
    per_element_dependencies: bool = False
    # model exchange
    needs_completed_step: bool = False
    evaluates_discrete_states: bool = False
    # co-simulation
    variable_step: bool = False
    fixed_internal_step: float | None = None
    interpolates_inputs: bool = False
    output_derivative_order: int = 0
    intermediate_update: bool = False
    early_return: bool = False
    has_event_mode: bool = False
    asynchronous: bool = False

    def capabilities(self) -> dict[str, Any]:
        """The names of its capabilities."""
        names = [f.name for f in fields(self)[2:]]
        return {n: v for n in names if (v := getattr(self, n)) not in (False, None, 0)}


@dataclass(frozen=True, slots=True)
class Experiment:
    """The maker's default experiment, in s; None for missing values."""

    start: float | None = None
    stop: float | None = None
    tolerance: float | None = None
    step: float | None = None


@dataclass(frozen=True)
class FMUDescription:
    """Everything in modelDescription.xml that matters for running.

    file : for messages; version : "2.0", "3.0", ...; token : guid or instantiationToken, as it stands
    variables : by name, aliases as well; units : by name
    cs, me, se : kinds of the FMU, None where it has not that one
    outputs, derivatives, indicators, initial_unknowns, clocked_states : model structure, in its order
    """

    file: str
    version: str
    name: str
    token: str
    variables: Mapping[str, Variable]
    cs: Interface | None = None
    me: Interface | None = None
    se: Interface | None = None
    units: Mapping[str, Unit] = field(default_factory=dict)
    experiment: Experiment = field(default_factory=Experiment)
    outputs: tuple[Dependent, ...] = ()
    derivatives: tuple[Dependent, ...] = ()
    indicators: tuple[Dependent, ...] = ()
    initial_unknowns: tuple[Dependent, ...] = ()
    clocked_states: tuple[Dependent, ...] = ()
    n_indicators: int = 0
    log_categories: tuple[str, ...] = ()
    tool: str = ""
    text: str = ""
    structured_names: bool = False
    derived: Derived = field(default_factory=Derived, init=False, repr=False, compare=False)

    @cached_property
    def major(self) -> int:
        """2 or 3."""
        return int(self.version.split(".")[0])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds it has, among "cs", "me" and "se"."""
        return tuple(k for k in ("cs", "me", "se") if getattr(self, k) is not None)

    def interface(self, kind: str | None) -> Interface:
        """The interface of a kind; None takes cs if there is one, else me, else se.

        Raises
        ------
        FMUError      the FMU has not that kind
        """
        known = {"cs": "co-simulation", "me": "model exchange", "se": "scheduled execution"}
        if kind is None:
            kind = next(k for k in known if getattr(self, k) is not None)
        elif not isinstance(kind, str) or kind not in known:
            listed = ", ".join(f"'{k}' ({word})" for k, word in known.items())
            raise self.fault(f"kind={kind!r}, expected {listed} or None")
        found = getattr(self, kind)
        if not isinstance(found, Interface):
            has = ", ".join(f"'{k}' ({known[k]})" for k in self.kinds) or "no kind at all"
            raise self.fault(f"it is asked for {known[kind]} (kind='{kind}') but has {has} only")
        return found

    def variable(self, name: object) -> Variable:
        """A variable by its name.

        Raises
        ------
        FMUError      there is none, with a near miss
        """
        found = self.variables.get(name) if isinstance(name, str) else None
        if found is None:
            raise self.fault(f"no variable '{name}'; {near_miss(name, self.variables)}", name=str(name))
        return found

    @cached_property
    def inputs(self) -> tuple[Variable, ...]:
        """Inputs that are numbers, in the order of the file."""
        return self._of("input")

    @cached_property
    def output_variables(self) -> tuple[Variable, ...]:
        """Outputs that are numbers, in the order of the file."""
        return self._of("output")

    @cached_property
    def parameters(self) -> tuple[Variable, ...]:
        """Parameters that are numbers; no structural ones."""
        return self._of("parameter")

    @cached_property
    def clocks(self) -> tuple[Variable, ...]:
        """Clocks, in the order of the file; no aliases."""
        return tuple(v for v in self.variables.values() if v.clock is not None and v.alias_of is None)

    @cached_property
    def triggers(self) -> tuple[Variable, ...]:
        """Input clocks that tick when the user triggers them."""
        found = (v for v in self.clocks if v.clock is not None and v.clock.kind == "triggered")
        return tuple(v for v in found if v.causality == "input")

    @cached_property
    def output_clocks(self) -> tuple[Variable, ...]:
        """Clocks that the FMU itself ticks."""
        return tuple(v for v in self.clocks if v.causality == "output")

    @cached_property
    def structural(self) -> tuple[Variable, ...]:
        """Structural parameters."""
        return self._of("structuralParameter")

    @cached_property
    def states(self) -> tuple[Variable, ...]:
        """Continuous states, in the order of the state vector."""
        rates = [self.variables[d.name] for d in self.derivatives]
        return tuple(self.variables[r.derivative_of] for r in rates if r.derivative_of is not None)

    def _of(self, causality: str) -> tuple[Variable, ...]:
        every = self.variables.values()
        return tuple(v for v in every if v.causality == causality and v.numeric and v.alias_of is None)

    def dependencies(self, output: str) -> tuple[str, ...] | None:
        """The variables an output depends on; None for all."""
        name = self.variables[output].alias_of or output
        found = next((d for d in self.outputs if d.name == name), None)
        return None if found is None else found.dependencies

    def sized(self, values: Mapping[str, int]) -> FMUDescription:
        """The same with other values of structural parameters, by name, and arrays of the sizes they give.

        Raises
        ------
        FMUError      an array is too large
        """
        return (self._resized(values) if values else self)._with_arrays_that_fit()

    def _with_arrays_that_fit(self) -> FMUDescription:
        for v in self.variables.values():
            if v.dimensions and v.size > MOST_NUMBERS:
                sources = dict.fromkeys(d.source for d in v.dimensions if d.source)
                by = "".join(f", by '{source}'" for source in sources)
                raise self.fault(
                    f"'{v.name}' is an array of {v.size} numbers{by}; at most {MOST_NUMBERS} are possible",
                    name=v.name,
                )
        return self

    def _resized(self, values: Mapping[str, int]) -> FMUDescription:

        def shape(v: Variable) -> tuple[int, ...]:
            return tuple(int(values.get(d.source or "", d.start)) for d in v.dimensions)

        found = {n: replace(v, shape=shape(v)) if v.dimensions else v for n, v in self.variables.items()}
        indicators = self.n_indicators
        if self.indicators:
            indicators = sum(found[d.name].size for d in self.indicators)
        return replace(self, variables=found, n_indicators=indicators)

    def fault(self, what: str, hint: str | None = None, name: str | None = None) -> FMUError:
        """An error about this FMU."""
        stop = "" if what.endswith((".", "?")) else "."
        return FMUError(f"FMU '{self.file}': {what}{stop}", path=self.file, port=name, hint=hint)


def no_items(variables: Sequence[Variable], values: np.ndarray) -> np.ndarray:
    """(n,) bool: scalars of some variables that are not items of their variable's enumeration."""
    found, start = np.zeros(len(values), dtype=bool), 0
    for v in variables:
        place = slice(start, start + v.size)
        if v.items:
            found[place] = ~np.isin(values[place], list(v.items))
        start += v.size
    return found
