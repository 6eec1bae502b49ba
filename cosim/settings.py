"""How to run: solver, steps, tolerances, engine, seed. The one list of settings.

`simulate`, `Simulation`, `simulate_many` and `run_deck` take these as keywords, ``[run]`` of a scenario as
keys.
A setting is one field of `RunSettings`: its default, what it may be, and its text in ``help(simulate)``.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast

import numpy as np

from blocks.arguments import is_number, is_whole
from blocks.errors import PlantloopError, near_miss, shown
from cosim.engines.methods.solvers import SOLVERS
from cosim.fmi.coupling.coupling import Coupling
from cosim.names import mapped

ENGINES = ("auto", "reference", "native")
FIXED_ONLY, ADAPTIVE_ONLY = ("step",), ("rtol", "atol", "max_step")
PLACEHOLDER = re.compile(r"^( *)\*\*settings\n", re.M)  # in a docstring: there the texts of all settings come

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rule:
    """What a setting may be, in words and as a test.

    accepts : value -> bool; kept : the type a value is kept as
    choices : the names there are, where the value is one of some
    limits : least and greatest of a number
    """

    expected: str
    accepts: Callable[[Any], bool]
    kept: Callable[[Any], Any]
    choices: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None

    def cure(self, value: object) -> str:
        """What to change about a value that is not accepted; empty where that is not known."""
        if self.choices:
            near = near_miss(value, self.choices)
            return "D" + near[1:] if near.startswith("did") else ""
        if self.limits is not None and is_number(value) and value > 0:
            return f"It is from {self.limits[0]:g} to {self.limits[1]:g}."
        return "Leave the quotes out." if isinstance(value, str) and self._accepts_unquoted(value) else ""

    def _accepts_unquoted(self, value: str) -> bool:
        plain: Any = {"true": True, "false": False}.get(value.lower())
        if plain is None:
            try:
                plain = int(value) if value.lstrip("+-").isdigit() else float(value)
            except ValueError:
                return False
        return self.accepts(plain)

    def checked(self, name: str, value: Any) -> Any:
        """The value as it is kept.

        Raises
        ------
        PlantloopError      it is not accepted
        """
        if self.accepts(value):
            return self.kept(value)
        if self.choices:
            raise PlantloopError(f"no {name} '{value}'; {near_miss(value, self.choices)}", value=value)
        cure = self.cure(value) or None
        raise PlantloopError(f"{name} is {shown(value)}, expected {self.expected}.", value=value, hint=cure)


def _positive(unit: str = "", least: float = 1e-18, most: float = 1e18) -> Rule:
    accepts = lambda v: is_number(v) and least <= v <= most
    return Rule(f"a positive number{f' [{unit}]' if unit else ''}", accepts, float, limits=(least, most))


def _one_of(*choices: str) -> Rule:
    listed = " or ".join(f'"{word}"' for word in choices)
    return Rule(listed, lambda v: isinstance(v, str) and v in choices, str, choices)


_WHOLE = Rule("a whole number", is_whole, int)
_COUPLING = Rule(
    'a Coupling(...), "jacobi" or "gauss-seidel"',
    lambda v: Coupling.of(v) is not None,
    Coupling.of,
)
_FLAG = Rule("true or false", lambda v: isinstance(v, (bool, np.bool_)), bool)


def _setting(default: Any, rule: Rule, text: str, may_be_none: bool = True) -> Any:
    """A field of `RunSettings`; as a keyword its default is None, "not given", where that is allowed."""
    unset = None if may_be_none else default
    return field(default=default, metadata={"rule": rule, "text": text, "unset": unset})


class Keywords(TypedDict, total=False):
    """The fields of `RunSettings` as keywords, for type checkers."""

    solver: str | None
    step: float | None
    rtol: float | None
    atol: float | None
    max_step: float | None
    engine: str
    seed: int
    solve_loops: bool
    wall_limit: float | None
    coupling: Coupling | str | Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How to run; every value checked, every unset one at its default.

    origins : setting -> where it was given, for the result; those that are not in it are defaults

    Raises
    ------
    PlantloopError      a value that makes no sense, or that does not apply to the solver

    >>> quick = RunSettings(solver="rk4", step=0.01)
    >>> simulate(d, 1.0, settings=quick); simulate(d, 1.0, solver="rk4", step=0.01)     # the same
    """

    solver: str = _setting(
        "dopri5", _one_of(*SOLVERS),
        '"dopri5" (adaptive, default), "rodas4" (stiff), "rk4" or "euler" (fixed step); '
        'SciPy\'s "Radau", "BDF", "LSODA" (stiff), "DOP853", "RK45", "RK23"',
    )  # fmt: skip
    step: float = _setting(
        1e-3, _positive("s"),
        "[s] of a fixed-step solver; between two stops the steps are equal and at most this (default 1e-3)",
    )  # fmt: skip
    rtol: float = _setting(
        1e-8, _positive(least=1e-16, most=1e3), "relative tolerance of an adaptive solver (default 1e-8)"
    )
    atol: float = _setting(
        1e-10, _positive(least=1e-300, most=1e300),
        "absolute tolerance of an adaptive solver, times a state's nominal size (default 1e-10)",
    )  # fmt: skip
    max_step: float = _setting(
        math.inf, _positive("s", most=math.inf), "[s] bound on the steps of an adaptive solver (default none)"
    )
    engine: str = _setting("auto", _one_of(*ENGINES), '"auto", "reference" or "native"', may_be_none=False)
    seed: int = _setting(0, _WHOLE, "of random draws", may_be_none=False)
    solve_loops: bool = _setting(
        False, _FLAG, "solve algebraic loops instead of refusing them", may_be_none=False
    )
    wall_limit: float = _setting(
        math.inf, _positive("s", least=1e-6, most=math.inf),
        "[s] of wall time after which a run ends with an error that has its result so far (default none)",
    )  # fmt: skip
    coupling: Coupling | None = _setting(  # noqa: RUF009  # frozen, and None
        None, _COUPLING,
        'how units that step themselves (co-simulated FMUs) are put together: "jacobi", "gauss-seidel" or a '
        "Coupling; default: FMUs as \"jacobi\", with sampled outputs",
    )  # fmt: skip
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        values, changed = vars(self), {}
        for name, f in SETTINGS.items():
            if values[name] is f.default:
                continue
            value = f.metadata["rule"].checked(name, values[name])
            object.__setattr__(self, name, value)
            if value != f.default:
                changed[name] = "RunSettings"
        object.__setattr__(self, "origins", MappingProxyType(changed | mapped(self.origins, "origins")))
        if (wrong := misplaced(self.solver, self.origins)) is not None:
            kind, right = ("adaptive", ADAPTIVE_ONLY) if self.adaptive else ("fixed-step", FIXED_ONLY)
            raise PlantloopError(
                f"{wrong}= does not apply to solver '{self.solver}', which is {kind}; give "
                f"{', '.join(right)}."
            )

    @staticmethod
    def of(
        given: RunSettings | None = None, /, *, origin: str = "argument", **keywords: Unpack[Keywords]
    ) -> RunSettings:
        """Settings from keywords, None for one that is not given, on top of others."""
        known = {}
        for name, value in keywords.items():
            if name not in SETTINGS:
                raise PlantloopError(f"no setting '{name}'; {near_miss(name, SETTINGS)}", value=value)
            if value is not None or SETTINGS[name].metadata["unset"] is not None:
                known[name] = value
        if given is None:
            try:
                return _made(origin, tuple(known), *known.values())
            except TypeError:  # it cannot be kept by: a dict, a list
                return _made.__wrapped__(origin, tuple(known), *known.values())
        if not isinstance(given, RunSettings):
            raise PlantloopError(
                f"settings is {given!r}, expected RunSettings.",
                value=given,
                hint='Write settings=RunSettings(solver="rk4", step=0.01), or the keywords themselves.',
            )
        if not known:
            return given
        origins = dict(given.origins) | dict.fromkeys(known, origin)
        return replace(given, **known, origins=origins)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the values given: a mapping proxy cannot be pickled."""
        values = {name: getattr(self, name) for name in self.origins}
        return _again, (values, dict(self.origins))

    @property
    def adaptive(self) -> bool:
        """Does the solver choose its steps?"""
        return SOLVERS[self.solver].adaptive

    @property
    def driven(self) -> bool | Literal["held"]:
        """Are blocks that step themselves run by a co-simulation master? "held": FMUs are, by default."""
        return True if self.coupling is not None else "held"

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the settings that the solver looks at, itself first."""
        return ("solver", *(ADAPTIVE_ONLY if self.adaptive else FIXED_ONLY))

    def origin(self, name: str) -> str:
        """Where a setting was given, or "default"."""
        return self.origins.get(name, "default")


SETTINGS: Mapping[str, Field[Any]] = MappingProxyType(
    {f.name: f for f in fields(RunSettings) if "rule" in f.metadata}
)
"""Every setting by its name."""


@functools.lru_cache(maxsize=32, typed=True)
def _made(origin: str, names: tuple[str, ...], *given: Any) -> RunSettings:
    """Settings from values of one origin, for many runs one after the other."""
    values: dict[str, Any] = dict(zip(names, given, strict=True))
    return RunSettings(**values, origins=dict.fromkeys(values, origin))


def _again(values: dict[str, Any], origins: dict[str, str]) -> RunSettings:
    return RunSettings(**values, origins=origins)


def misplaced(solver: str, given: Mapping[str, Any]) -> str | None:
    """The first of some settings that the solver does not look at."""
    wrong = FIXED_ONLY if SOLVERS[solver].adaptive else ADAPTIVE_ONLY
    return next((name for name in wrong if name in given), None)


def takes_settings(function: F, elsewhere: Mapping[str, str] = MappingProxyType({})) -> F:
    """Show the settings that a function takes as ``**settings`` in its signature and docstring.

    A keyword that is none of those shown is refused, with the near miss among all of them.

    elsewhere : keywords of other functions, and what to write here in their place
    """

    @functools.wraps(function)
    def taking(*args: Any, **given: Any) -> Any:
        for name in given:
            if name in elsewhere:
                what = f"no setting '{name}' of {function.__qualname__.partition('.')[0]}"
                raise PlantloopError(f"{what}.", value=given[name], hint=elsewhere[name])
            if name not in known:
                raise PlantloopError(f"no setting '{name}'; {near_miss(name, known)}", value=given[name])
        return function(*args, **given)

    signature = inspect.signature(function)
    shown = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    annotations = {name: hint.__forward_arg__ for name, hint in Keywords.__annotations__.items()}
    shown += [
        inspect.Parameter(
            n, inspect.Parameter.KEYWORD_ONLY, default=f.metadata["unset"], annotation=annotations[n]
        )
        for n, f in SETTINGS.items()
    ]
    known = {p.name: p for p in shown if p.name != "self" and p.kind is not p.POSITIONAL_ONLY}
    taking.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    taking.__doc__ = with_texts(function.__doc__)
    return cast(F, taking)


BY_STEPS = MappingProxyType(
    {
        "until": "Call advance(until).",
        "log_every": "Call log(times), for instance log(np.arange(0.0, 10.0, 0.1)), before advance(until).",
        "log_at": "Call log(times) before advance(until).",
        "progress": "Give it to advance(until, progress=...).",
        "inputs": "Call set_input(name, value), which may be done at any time.",
    }
)
"""Keywords of `simulate` that a run step by step has methods for."""


def takes_settings_of_steps(function: F) -> F:
    """`takes_settings` for a run step by step."""
    return takes_settings(function, BY_STEPS)


def with_texts(doc: str | None) -> str | None:
    """A docstring with the texts of all settings in the place of ``**settings``, indented as that is."""
    place = PLACEHOLDER.search(doc or "")
    if doc is None or place is None:
        return doc
    indent, lines = place[1], []  # Python 3.13 and newer take the indentation of the source away
    for name, f in SETTINGS.items():
        head = f"{name} : {f.type}".ljust(23) + " " + f.metadata["text"]
        hanging = indent + " " * 24
        lines += textwrap.wrap(head, 108, initial_indent=indent, subsequent_indent=hanging)
    return doc[: place.start()] + "\n".join(lines) + "\n" + doc[place.end() :]
