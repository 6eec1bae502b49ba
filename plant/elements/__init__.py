"""The elements a plant can have: one frozen dataclass per XML element type, and the model they form.

``ELEMENTS`` maps each XML tag to its class, ``FORCES`` are those that act at markers. Each family file lists
its elements in ``__all__``; an element added there is found by the reader and can be imported from here.
"""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from plant.elements import (
    bodies,
    commands,
    constraints,
    controls,
    graphics,
    markers,
    outputs,
    references,
    wheels,
    world,
)

# Star imports take exactly the families' __all__, the one place where an element is listed.
from plant.elements.bodies import *  # noqa: F403
from plant.elements.commands import *  # noqa: F403
from plant.elements.commands import Modification as Modification
from plant.elements.commands import UnknownCommand as UnknownCommand
from plant.elements.constraints import *  # noqa: F403
from plant.elements.controls import *  # noqa: F403
from plant.elements.draft import Draft as Draft
from plant.elements.element import Element as Element
from plant.elements.element import Source as Source
from plant.elements.forces import FAMILIES
from plant.elements.forces.bushings import *  # noqa: F403
from plant.elements.forces.force import Force as Force
from plant.elements.forces.penalties import *  # noqa: F403
from plant.elements.forces.springs import *  # noqa: F403
from plant.elements.forces.vectors import *  # noqa: F403
from plant.elements.graphics import *  # noqa: F403
from plant.elements.markers import *  # noqa: F403
from plant.elements.markers import Frame as Frame
from plant.elements.model import Model as Model
from plant.elements.outputs import *  # noqa: F403
from plant.elements.references import *  # noqa: F403
from plant.elements.subroutine import ExpressionOrSubroutine as ExpressionOrSubroutine
from plant.elements.subroutine import UserSubroutine as UserSubroutine
from plant.elements.wheels import *  # noqa: F403
from plant.elements.world import *  # noqa: F403


def _table(*families: ModuleType) -> Mapping[str, type[Element]]:
    """XML tag to class of all families; two classes for one tag are a programming error."""
    table: dict[str, type[Element]] = {}
    for family in families:
        for name in family.__all__:
            element: type[Element] = getattr(family, name)
            if table.setdefault(element.tag, element) is not element:
                raise TypeError(f"two element classes have the tag {element.tag}")
    return MappingProxyType(table)


ELEMENTS = _table(
    world, bodies, markers, constraints, *FAMILIES, references, controls, outputs, graphics, wheels, commands
)

FORCES: tuple[type[Force], ...] = tuple(
    kind
    for family in (*FAMILIES, wheels)
    for name, kind in vars(family).items()
    if name in family.__all__ and issubclass(kind, Force)
)
"""Those on one body are added up in the order in which they stand in their files."""
