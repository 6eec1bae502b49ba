"""Every element, attribute, joint type and function the plant knows, as the page ``docs/elements.md``.

python -m plant.formats.motionsolve.catalogue > docs/elements.md
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator

from plant.elements import ELEMENTS
from plant.expressions.functions import FUNCTIONS
from plant.mechanics.joints import JOINT_TYPES

INHERITED = {"id", "label", "source", "is_active"}
STATUS = {
    "Inertia_Wheel": "supported; an extension, the file format has no such element",
    "Param_Linear": "supported but for balancing, gyroscopic, anim_scale and files of other programs",
    "Param_Simulation": "read and checked; changes nothing",
    "Param_Static": "method, max_ke_tol and max_num_iter; equilibria are found to rounding",
    "Param_Transient": "integrator_type, integr_tol and h_max, where a deck is run; a scenario has its own",
    "Reference_PlantState": "supported in the linear analyses of a deck that is run",
    "Reference_String": "read and checked",
    "Sensor_Event": "all but dt, stepsize and hmax, which are ignored with a warning",
    "Simulate": "supported but for frequency responses",
}
"""What is less than whole; every other element is supported."""


def page() -> str:
    """The page, in Markdown."""
    return "\n".join([*_head(), *_elements(), *_joints(), *_functions()]) + "\n"


def _head() -> Iterator[str]:
    yield "# Elements and functions of a plant"
    yield ""
    yield (
        "Made by `python -m plant.formats.motionsolve.catalogue`; a test keeps it true. "
        "Names are not case sensitive."
    )
    yield ""


def _elements() -> Iterator[str]:
    yield "## Elements"
    yield ""
    yield "| element | what it is | attributes | status |"
    yield "| --- | --- | --- | --- |"
    for tag, kind in sorted(ELEMENTS.items()):
        names = [f.name for f in dataclasses.fields(kind) if f.name not in INHERITED]
        attributes = ", ".join(f"`{n}`" for n in names)
        yield f"| {tag} | {_first_sentence(kind)} | {attributes} | {STATUS.get(tag, 'supported')} |"
    yield ""


def _joints() -> Iterator[str]:
    yield "## Joint types"
    yield ""
    yield "Conditions on displacement + rotation; *coordinates* marks those that can be joints of the tree."
    yield ""
    yield "| type | conditions | in the tree |"
    yield "| --- | --- | --- |"
    for name, entry in sorted(JOINT_TYPES.items()):
        if entry.in_decks:
            role = "constraint" if entry.joint is None else "coordinates"
            yield f"| {name} | {entry.fixes[0]} + {entry.fixes[1]} | {role} |"
    yield ""


def _functions() -> Iterator[str]:
    yield "## Functions of the expression language"
    yield ""
    yield "| function | arguments |"
    yield "| --- | --- |"
    for name, entry in sorted(FUNCTIONS.items()):
        yield f"| {name} | `{entry.signature}` |"


def _first_sentence(kind: type) -> str:
    text = " ".join((inspect.getdoc(kind) or "").split())
    return text.split(". ")[0].rstrip(".").replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
