"""What contradicts the schema of descriptions but matters to no run of the FMU is left out, with a warning.

Attributes the schema does not know, elements of the root that it does not know or expects elsewhere, and
lists without entries. All else that contradicts the schema stays an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ORDER = {
    "2": (
        "ModelExchange", "CoSimulation", "UnitDefinitions", "TypeDefinitions", "LogCategories",
        "DefaultExperiment", "VendorAnnotations", "ModelVariables", "ModelStructure",
    ),
    "3": (
        "ModelExchange", "CoSimulation", "ScheduledExecution", "UnitDefinitions", "TypeDefinitions",
        "LogCategories", "DefaultExperiment", "ModelVariables", "ModelStructure", "Annotations",
    ),
}  # fmt: skip
"""The children of the root in the order of the schemas, by the first digit of the version."""
LISTS = (
    "UnitDefinitions", "TypeDefinitions", "LogCategories", "VendorAnnotations", "Annotations", "Outputs",
    "Derivatives", "InitialUnknowns", "SourceFiles",
)  # fmt: skip
"""Elements that are nothing but lists, and may be left out."""
PROBLEM = re.compile(
    r"ERROR \(line (\d+), [^)]*\): Element '([^']+)'(?:, attribute '([^']+)')?: (.*)", flags=re.DOTALL
)


def tolerated(root: Any, problems: Sequence[str]) -> bool:
    """Change the elements of a description so that problems of its schema go away.

    Returns whether something was changed; nothing is where one of the problems matters.

    root : the element of the whole description; problems : as FMPy words them, in lines of its file
    """
    changes = [_change(root, problem) for problem in problems]
    found = [c for c in changes if c is not None]
    if len(found) < len(changes):
        return False
    for change in found:
        change()
    return bool(found)


def _change(root: Any, problem: str) -> Any:
    """A function that removes the reason of a problem, None if there is none that may be removed."""
    match = PROBLEM.fullmatch(problem)
    if match is None:
        return None
    line, tag, attribute, said = int(match[1]), match[2], match[3], match[4]
    here = [e for e in root.iter(tag) if e.sourceline == line]
    if attribute is not None and "is not allowed" in said:
        found = [e for e in here if attribute in e.attrib]
        return (lambda: [e.attrib.pop(attribute, None) for e in found]) if found else None
    if tag in LISTS and said.startswith("Missing child element(s)"):
        empty = [e for e in here if not any(isinstance(child.tag, str) for child in e)]
        return (lambda: _remove(empty)) if empty else None
    inside = [e for e in here if e.getparent() is root]
    if not inside or not said.startswith("This element is not expected"):
        return None
    order = ORDER[root.get("fmiVersion")[0]]
    if tag not in order:
        return lambda: _remove(inside)
    rank = {name: k for k, name in enumerate(order)}
    children = list(root)
    if _arranged(children, rank) == children:
        return None
    return lambda: root.extend(_arranged(root, rank))  # each moves to the end, but what has been removed


def _arranged(elements: Iterable[Any], rank: Mapping[str, int]) -> list[Any]:
    return sorted(elements, key=lambda e: rank.get(e.tag, -1))


def _remove(elements: Sequence[Any]) -> None:
    for element in elements:
        element.getparent().remove(element)
