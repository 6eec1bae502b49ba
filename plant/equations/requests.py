"""What a Post_Request shows: its channels, each as an expression of the run-time language.

Marker requests fill eight channels: magnitude and x, y, z of the translation, then of the rotation, of
marker I relative to J along the axes of the reference marker (J and the reference marker default to
ground). Rotational components of a displacement are the body-fixed 3-1-3 angles PSI, THETA, PHI, which have
no magnitude: that channel is left out. Source: MotionSolve reference guide, Post_Request (channel order
of marker requests as in Adams, not confirmed by the guide).
"""

from __future__ import annotations

from collections.abc import Mapping

from plant.elements import ELEMENTS, Post_Request
from plant.elements.outputs import RESULTS

# channel -> expression; {i}, {j}, {k} are marker I, marker J and the reference marker
_MARKER: Mapping[str, Mapping[str, str]] = {
    "MARKER_DISPLACEMENT": {
        "DM": "DM({i},{j})",
        **{f"D{x}": f"D{x}({{i}},{{j}},{{k}})" for x in "XYZ"},
        **{name: f"{name}({{i}},{{j}})" for name in ("PSI", "THETA", "PHI")},
    },
    "MARKER_VELOCITY": {
        "VM": "VM({i},{j})",
        **{f"V{x}": f"V{x}({{i}},{{j}},{{k}})" for x in "XYZ"},
        "WM": "WM({i},{j})",
        **{f"W{x}": f"W{x}({{i}},{{j}},{{k}})" for x in "XYZ"},
    },
    "MARKER_ACCELERATION": {
        "ACCM": "ACCM({i},{j})",
        **{f"ACC{x}": f"ACC{x}({{i}},{{j}},{{k}})" for x in "XYZ"},
        "WDTM": "WDTM({i},{j})",
        **{f"WDT{x}": f"WDT{x}({{i}},{{j}},{{k}})" for x in "XYZ"},
    },
    "MARKER_FORCE": {
        "FM": "FM({i},{j})",
        **{f"F{x}": f"F{x}({{i}},{{j}},{{k}})" for x in "XYZ"},
        "TM": "TM({i},{j})",
        **{f"T{x}": f"T{x}({{i}},{{j}},{{k}})" for x in "XYZ"},
    },
}

# element of an ELEMENTAL_FORCE request by another name than its type or its functions
_SYNONYMS = {"vtorque": "VTORQ"}
_COMPONENTS = ("FM", "FX", "FY", "FZ", "TM", "TX", "TY", "TZ")


def channels(request: Post_Request) -> dict[str, str]:
    """Expression of each channel by its name; none where a subroutine or nothing gives them."""
    kind = request.type or "EXPRESSION"
    if kind == "EXPRESSION":
        return {f"expr{k}": text for k, text in enumerate(request.expressions, start=1) if text}
    if kind == "ELEMENTAL_FORCE":
        reader = elemental_reader(request)
        frame, jflag = request.ref_marker_id or 0, request.jflag or 0
        if reader is None:
            return {}
        return {
            name: f"{reader}({request.elem_id},{jflag},{comp},{frame})"
            for comp, name in enumerate(_COMPONENTS, start=1)
        }
    markers = {"i": request.i_marker_id, "j": request.j_marker_id or 0, "k": request.ref_marker_id or 0}
    return {name: text.format(**markers) for name, text in _MARKER.get(kind, {}).items()}


def elemental_reader(request: Post_Request) -> str | None:
    """Function that reads the element of an ELEMENTAL_FORCE request, None for an unknown ``elem_type``."""
    kind = _short((request.elem_type or "").lower())
    if kind.startswith("motion"):
        return "MOTION"
    for tag, element in ELEMENTS.items():
        if element.readers and _short(tag.lower()) == kind:
            return element.readers[0]
        for reader in element.readers:
            if reader.lower() == kind:
                return reader
    return _SYNONYMS.get(kind)


def _short(name: str) -> str:
    """The name of an element type without its family."""
    for family in ("force_", "constraint_"):
        name = name.removeprefix(family)
    return name


def labels(request: Post_Request) -> tuple[str, ...]:
    """Names of the channels of a request, in order."""
    if request.type == "USERSUB" or (request.type is None and request.has_subroutine):
        return RESULTS
    return tuple(channels(request))
