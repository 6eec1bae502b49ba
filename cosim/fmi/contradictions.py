"""Contradictions in a model description that its schema allows, and with the binary."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from cosim.fmi.description import FLOATS, FMUDescription, Variable
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.any_component import AnyComponent


def wrong_indices(root: Any) -> list[str]:
    """In FMI 2.0: indices of the structure, or of states, that no variable has; each in words.

    root : the element of the whole description
    """
    variables = root.find("ModelVariables")
    count = 0 if variables is None else sum(1 for v in variables if isinstance(v.tag, str))
    found = []
    for element, attribute, number in _numbers(root):
        if not 1 <= number <= count:
            found.append(
                f"{element.tag} (line {element.sourceline}) has {attribute} {number}, but variables are "
                f"numbered from 1 to {count}"
            )
    return found


def _numbers(root: Any) -> Iterator[tuple[Any, str, int]]:
    """All indices of variables with their places in the file; non-numbers are left to the schema."""
    for element in root.iterfind("ModelStructure//Unknown"):
        for attribute in ("index", "dependencies"):
            for word in (element.get(attribute) or "").split():
                if word.lstrip("+-").isdigit():
                    yield element, attribute, int(word)
    for element in root.iterfind("ModelVariables/ScalarVariable/Real"):
        if (element.get("derivative") or "").lstrip("+-").isdigit():
            yield element, "derivative", int(element.get("derivative"))


def no_states(d: FMUDescription) -> list[str]:
    """Derivatives in the structure of variables that cannot be states; each in words."""
    found = []
    for entry in d.derivatives:
        rate = d.variables[entry.name]
        state = None if rate.derivative_of is None else d.variables[rate.derivative_of]
        if state is None:
            continue
        named = f"'{rate.name}' (line {rate.line}) is the derivative of '{state.name}'"
        if state is rate:
            found.append(f"'{rate.name}' (line {rate.line}) is the derivative of itself")
        elif state.type not in FLOATS:
            found.append(f"{named}, which is of type {state.type}")
        elif state.size != rate.size:
            found.append(f"{named}, which has {state.size} components instead of {rate.size}")
    return found


def contradictions(d: FMUDescription) -> list[str]:
    """Contradictions that do not prevent a run, each in words."""
    e, found = d.experiment, []
    if e.step is not None and not e.step > 0:
        found.append(f"the step size of its default experiment is {e.step:g} s")
    if e.start is not None and e.stop is not None and e.stop < e.start:
        found.append(f"its default experiment ends at {e.stop:g} s, before it begins at {e.start:g} s")
    rates = [v for v in d.variables.values() if v.derivative_of is not None]
    if rates and not d.derivatives and d.me is not None:
        v = rates[0]
        found.append(
            f"variable '{v.name}' (line {v.line}) is the derivative of '{v.derivative_of}', but the "
            "structure lists no derivatives, so that model exchange has no states"
        )
    for v in d.variables.values():
        found += [f"variable '{v.name}' (line {v.line}) {what}" for what in _of_variable(v)]
    return found


def _of_variable(v: Variable) -> Iterator[str]:
    low, high = v.minimum, v.maximum
    if low is not None and high is not None and low > high:
        yield f"has min {low:g} above max {high:g}"
        return
    starts = v.start if isinstance(v.start, tuple) else (v.start,)
    if v.max_size is not None and any(len(x) > v.max_size for x in starts if x is not None):
        yield f"has a start value of more bytes than its maxSize {v.max_size}"
    if not v.numeric or v.start is None:
        return
    if v.type in FLOATS and any(math.isnan(x) for x in starts):
        yield "has a start value that is no number"
    elif v.items and any(x not in v.items for x in starts):
        yield f"has start={starts[0]}, which is none of {v.listed_items}"
    elif v.type != "Boolean":
        if low is not None and min(starts) < low:
            yield f"starts with {min(starts):g}, below its min {low:g}"
        if high is not None and max(starts) > high:
            yield f"starts with {max(starts):g}, above its max {high:g}"


def odd_elements(root: Any) -> list[str]:
    """Empty names, equal items of one enumeration, kinds without dependencies; each in words.

    root : the element of the whole description
    """
    return [*_without_a_name(root), *_alike_items(root), *_unpaired_kinds(root)]


def _without_a_name(root: Any) -> Iterator[str]:
    for v in root.find("ModelVariables") if root.find("ModelVariables") is not None else ():
        if isinstance(v.tag, str) and not (v.get("name") or "x").strip():
            yield f"the variable in line {v.sourceline} has an empty name, by which nobody can wire or set it"


def _alike_items(root: Any) -> Iterator[str]:
    for of, path in (("SimpleType", "Enumeration/Item"), ("EnumerationType", "Item")):
        for kind in root.iterfind(f"TypeDefinitions/{of}"):
            for what in ("name", "value"):
                said = [item.get(what) for item in kind.iterfind(path)]
                for twice in dict.fromkeys(x for x in said if x is not None and said.count(x) > 1):
                    where = f"enumeration '{kind.get('name')}' (line {kind.sourceline})"
                    yield f"{where} has several items of {what} {twice}; the last one counts"


def _unpaired_kinds(root: Any) -> Iterator[str]:
    for entry in root.iterfind("ModelStructure//*"):
        kinds = entry.get("dependenciesKind") if isinstance(entry.tag, str) else None
        if kinds is None:
            continue
        count, on = len(kinds.split()), len((entry.get("dependencies") or "").split())
        if count != on:
            yield f"{entry.tag} (line {entry.sourceline}) has {count} dependenciesKind for {on} dependencies"


def check_counts(component: AnyComponent, nx: int, nz: int) -> None:
    """Check that the binary has as many states and indicators as the description.

    Raises
    ------
    FMUCallError      it has others
    """
    said = component.counts()
    for mine, theirs, what in zip((nx, nz), said or (nx, nz), ("states", "event indicators"), strict=True):
        if mine != theirs:
            file = component.description.file
            raise FMUCallError(
                f"FMU '{file}': its description has {mine} {what}, its binary {theirs}.",
                path=file,
                hint="Its ModelStructure is wrong: ask its maker.",
            )


__all__ = ["check_counts", "contradictions", "no_states", "odd_elements", "wrong_indices"]
