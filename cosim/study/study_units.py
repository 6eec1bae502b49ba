"""Units of what a study varies and stores, for its table, report and page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cosim.names import COMPONENT
from cosim.system import System


def units_of(system: System, stored: Iterable[str], varied: Iterable[str]) -> dict[str, Any]:
    """Units as a manifest has them: ``units`` of varied parameters, ``signal_units`` of stored signals."""
    return {"units": _of_parameters(system, varied), "signal_units": _of_signals(system, stored)}


def _of_parameters(system: System, names: Iterable[str]) -> dict[str, str]:
    """Units of parameters and their components; initial values and numbers of actions have none."""
    known = system.names("parameter")
    wholes = {name: one[1] if (one := COMPONENT.fullmatch(name)) else name for name in names}
    places = {name: known.find(name) or known.find(whole) for name, whole in wholes.items()}
    slots = {n: system.parameters.get(place[0]) for n, place in places.items() if place is not None}
    return {name: slot.unit for name, slot in slots.items() if slot is not None and slot.unit}


def _of_signals(system: System, names: Iterable[str]) -> dict[str, str]:
    """Units of components of signals, as "plant.x[0]", or by the signal's name where there is one only."""
    found = {
        leaf.name if leaf.size == 1 else f"{leaf.name}[{k}]": leaf.unit(k)
        for leaf in system.tree(tuple(names)).leaves
        for k in range(leaf.size)
    }
    return {name: unit for name, unit in found.items() if unit}
