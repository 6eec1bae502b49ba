"""Multibody plants: read a MotionSolve-style model, get a block for a diagram.

``Plant`` is the block, ``Port`` one of its ports, and every XML element type (``Body_Rigid``,
``Reference_Marker``, ...) is a frozen dataclass for models written in Python. All of them are imported when
they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Plant": "plant.block",
    "Port": "plant.ports",
    "read_model": "plant.formats.motionsolve.reader",
    "PlantWarning": "plant.reporting",
    "Baumgarte": "plant.constraints.stabilisation",
    "GammaQ": "plant.constraints.stabilisation",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if not name.startswith("_"):
        elements = importlib.import_module("plant.elements")
        if name in elements.ELEMENTS or name == "Model":
            return getattr(elements, name)
    raise AttributeError(f"module 'plant' has no attribute '{name}'")


def __dir__() -> list[str]:
    elements = importlib.import_module("plant.elements")
    return [*_HOMES, "Model", *elements.ELEMENTS]
