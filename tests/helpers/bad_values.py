"""Values that make no sense for most parameters, and what becomes of a call that is given them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocks import Gain
from blocks.errors import PlantloopError


def anything(*_: Any, **__: Any) -> None:
    """A function that takes what it is given."""


BAD: dict[str, Any] = {
    "None": None,
    "True": True,
    "-1": -1,
    "0": 0,
    "1": 1,
    "2.5": 2.5,
    "200": 200,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "1j": 1j,
    "empty text": "",
    "text": "nonsense",
    "bytes": b"nonsense",
    "[]": [],
    "()": (),
    "{}": {},
    "[None]": [None],
    "[nan]": [float("nan")],
    "[inf]": [float("inf")],
    "[-1]": [-1.0],
    "[1]": [1.0],
    "[text]": ["nonsense"],
    "[[1], [1, 2]]": [[1.0], [1.0, 2.0]],
    "set": {"nonsense"},
    "dict": {"nonsense": 1.0},
    "dict of None": {"nonsense": None},
    "dict by number": {1: 1.0},
    "object": object(),
    "class": Gain,
    "function": anything,
    "array of shape (0,)": np.zeros(0),
    "array of shape (2, 3, 4)": np.zeros((2, 3, 4)),
    "array of text": np.array(["a", "b"]),
    "array of objects": np.array([None, {}], dtype=object),
}
EMPTY = frozenset({"[]", "()", "{}", "array of shape (0,)"})
NOTHING = frozenset({"None"})


NO_VALUES = frozenset({"None", "{}"})
NUMBERS = frozenset({"-1", "0", "1", "2.5", "200", "[-1]", "[1]"})
TIMES = frozenset({"0", "1", "2.5", "200"})
POSITIVE = frozenset({"1", "2.5", "200"})
SWITCH = frozenset({"True"})
SETTINGS: dict[str, frozenset[str]] = {
    "solver": NOTHING,
    "step": POSITIVE | NOTHING,
    "rtol": POSITIVE | NOTHING,
    "atol": POSITIVE | NOTHING,
    "max_step": POSITIVE | NOTHING | {"inf"},
    "wall_limit": POSITIVE | NOTHING | {"inf"},
    "engine": frozenset(),
    "seed": frozenset({"-1", "0", "1", "200"}),
    "solve_loops": SWITCH,
    "coupling": NOTHING,
}


@dataclass(frozen=True)
class Made:
    """An argument that is made when it is needed."""

    make: Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A callable with arguments that work, and what else each of its parameters takes."""

    name: str
    call: Callable[..., Any]
    good: dict[str, Any]
    takes: dict[str, frozenset[str]]
    skipped: tuple[str, ...] = ()
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)


def of_parameter(case: Case, name: str) -> list[str]:
    """What went wrong for one parameter."""
    wrong = []
    for what, value in BAD.items():
        given = {**case.good, **case.beside.get(name, {}), name: value}
        shown = f"{case.name}({name}={what})"
        means_something = what in case.takes.get(name, ())
        try:
            called(case, given)
        except PlantloopError as error:
            if means_something:
                wrong.append(f"{shown}: refused though it means something: {error}")
            elif len(str(error)) < 20:
                wrong.append(f"{shown}: says too little: {error}")
        except Exception as error:
            wrong.append(f"{shown}: {type(error).__name__}: {str(error)[:150]}")
        else:
            if not means_something:
                wrong.append(f"{shown}: accepted")
    return wrong


def called(case: Case, given: dict[str, Any]) -> Any:
    """The case's function with these arguments."""
    return case.call(**{k: v.make() if isinstance(v, Made) else v for k, v in given.items()})


def parameters(case: Case) -> list[str]:
    return [name for name in inspect.signature(case.call).parameters if name not in case.skipped]
