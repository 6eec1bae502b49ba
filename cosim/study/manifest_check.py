"""What a manifest of a study's folder may say: it comes from a file, which somebody else may have written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from cosim.run.memory import check_memory

MOST = 10**15
CASE_BYTES = 64  # of memory that one case takes at least, in a list of all of them
Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _texts_by_text(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_text, value)) and all(map(_text, value.values()))


def _count(least: int) -> Check:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(
        type(v) in (int, float) and abs(v) <= sys.float_info.max for v in value
    )


def _times(value: Any) -> bool:
    return _numbers(value) and all(a <= b for a, b in pairwise(value))


def _stored(value: Any) -> bool:
    one = lambda v: isinstance(v, list) and len(v) == 2 and _count(1)(v[0]) and _texts(v[1])
    return isinstance(value, dict) and all(map(_text, value)) and all(map(one, value.values()))


EXPECTED: Mapping[str, tuple[str, Check]] = {
    "name": ("a text", _text),
    "count": ("a number of cases", _count(0)),
    "chunk": ("a number of cases, 1 or more", _count(1)),
    **dict.fromkeys(("variants", "parameters", "metrics", "requirements", "sampled"), ("texts", _texts)),
    "stored": ("a size and labels for each signal", _stored),
    "times": ("finite numbers that never decrease", _times),
    "spans": ("finite numbers", _numbers),
    "keep": ("a text", _text),
    "dtype": ("float32 or float64", lambda value: value in ("float32", "float64")),
    "study_file": ("a text", _text),
    "design": ("a text", _text),
    **dict.fromkeys(
        ("fingerprints", "files", "other_names", "units", "signal_units"), ("texts by text", _texts_by_text)
    ),
}


def check_manifest(given: Mapping[str, Any]) -> None:
    """Check every entry of a manifest as JSON gave it, keys by the names of `Manifest`.

    Raises
    ------
    ValueError          an entry that this version does not write
    PlantloopError      more cases than fit into memory
    """
    for name, value in given.items():
        what, check = EXPECTED.get(name, ("", lambda _: True))
        if not check(value):
            raise ValueError(f"'{name}' is {str(value)[:60]!r}, expected {what}")
    if given.get("spans") and len(given["spans"]) != len(given.get("sampled", ())):
        raise ValueError(f"'spans' has {len(given['spans'])} numbers, expected one for each of 'sampled'")
    if given["stored"] and not given["times"]:
        raise ValueError("'stored' names signals, and there are no 'times'")
    check_memory(float(given["count"] * CASE_BYTES), "a list of its cases", "Do not trust it.")
