"""Multibody plants: read a MotionSolve-style model, get a block for a diagram.

``Plant`` is the block, ``Port`` one of its ports, and every XML element type (``Body_Rigid``,
``Reference_Marker``, ...) is a frozen dataclass for models written in Python. All of them are imported when
they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from blocks.exports import Exports

if TYPE_CHECKING:
    from plant.block import Plant as Plant
    from plant.constraints.stabilisation import Baumgarte as Baumgarte
    from plant.constraints.stabilisation import GammaQ as GammaQ
    from plant.elements import *  # noqa: F403  # exactly what the families list, and `Model`
    from plant.formats.motionsolve.reader import read_model as read_model
    from plant.ports import Port as Port
    from plant.reporting import PlantWarning as PlantWarning

_HOMES = {
    "Plant": "plant.block",
    "Port": "plant.ports",
    "read_model": "plant.formats.motionsolve.reader",
    "PlantWarning": "plant.reporting",
    "Baumgarte": "plant.constraints.stabilisation",
    "GammaQ": "plant.constraints.stabilisation",
}


def _elements() -> dict[str, str]:
    names = ("Model", *importlib.import_module("plant.elements").ELEMENTS)
    return dict.fromkeys(names, "plant.elements")


if not TYPE_CHECKING:  # type checkers see what is imported above, and nothing else
    _exports = Exports(__name__, _HOMES, _elements)
    __getattr__, __dir__ = _exports.get, _exports.dir
