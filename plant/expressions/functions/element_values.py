"""Values of other elements of the model, and the forces and torques acting in it."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from plant.elements import ELEMENTS
from plant.expressions.functions.entry import LanguageFunction, Reference
from plant.expressions.scope import Scope

UNSUPPORTED = {"BEAM": "Force_Beam", "NFORCE": "Force_MultiPoint"}
"""Functions of the language whose elements there are not."""


def _element(kind: str) -> Callable[..., tuple[Reference, ...]]:
    """A reference to an element; where two kinds share a function, `kind` joins their names by ``|``."""
    return lambda id, *literals: (("element", (kind, id)),)


def _force(name: str) -> Callable[..., ca.SX]:
    def force(scope: Scope, *ids: int) -> ca.SX:
        return scope.force(name, ids)

    return force


def _between(i: int, j: int, k: int = 0) -> tuple[Reference, ...]:
    """All forces between two markers; j = 0 means all forces at marker i."""
    return (("force", (i, j)),)


def _reading(name: str, signature: str, kind: str, read: Callable[..., ca.SX]) -> LanguageFunction:
    example = f"{name}(1, 2)" if "," in signature else f"{name}(1)"
    return LanguageFunction(name, signature, read, example, refers=lambda *literals: ((kind, literals),))


def _measures(name: str) -> str:
    return "force" if name in ("FM", "FX", "FY", "FZ") else "torque"


def _read() -> dict[str, str]:
    """Functions that read the loads of one element, with the types of elements they read."""
    found: dict[str, str] = {}
    for tag, kind in ELEMENTS.items():
        for name in kind.readers:
            found[name] = f"{found[name]}|{tag}" if name in found else tag
    return found | UNSUPPORTED


FUNCTIONS = (
    _reading("VARVAL", "id", "variable", lambda scope, id: scope.variable(id)),
    _reading("ARYVAL", "id, index", "array", lambda scope, id, k: scope.array(id, k)),
    _reading("DIF", "id", "state", lambda scope, id: scope.state(id)),
    _reading("DIF1", "id", "state_rate", lambda scope, id: scope.state_rate(id)),
    _reading("PINVAL", "id, index", "plant_input", lambda scope, id, k: scope.plant_input(id, k)),
    _reading("POUVAL", "id, index", "plant_output", lambda scope, id, k: scope.plant_output(id, k)),
    _reading("SENVAL", "id", "sensor", lambda scope, id: scope.sensor(id)),
    # of inertia wheels, an extension: momentum, spin rate relative to the body
    _reading("WHEELH", "id", "wheel", lambda scope, id: scope.wheel(id)[0]),
    _reading("WHEELW", "id", "wheel", lambda scope, id: scope.wheel(id)[1]),
    # between two markers
    *(
        LanguageFunction(
            name, "I [, J]", _force(name), f"{name}(1, 2)", refers=_between, quantity=_measures(name)
        )
        for name in ("FM", "TM")
    ),
    *(
        LanguageFunction(
            name, "I [, J [, K]]", _force(name), f"{name}(1, 2, 3)", refers=_between, quantity=_measures(name)
        )
        for name in ("FX", "FY", "FZ", "TX", "TY", "TZ")
    ),
    # of one element: jflag 0 at I, 1 at J; comp 1 FM, 2-4 FX FY FZ, 5 TM, 6-8 TX TY TZ
    *(
        LanguageFunction(
            name, "id, jflag, comp [, RM]", _force(name), f"{name}(1, 0, 2, 3)", refers=_element(kind)
        )
        for name, kind in _read().items()
    ),
)
