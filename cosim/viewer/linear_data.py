"""A linear model of a diagram in the page: from any wire to any other, with the margins of its loops."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.analysis.linear import linearize
from cosim.analysis.margins import margins
from cosim.compile.netlist import Netlist
from cosim.run.context import Context
from cosim.system import System
from cosim.viewer.page_data import PageData

MOST_SIGNALS = 60
MOST_STATES = 150


def add_linear(page: PageData, drawn: Any, system: System, start: Context | None = None) -> None:
    """Matrices of the model about the start: inputs added to signals of wires, outputs these.

    start : with the parameters and initial values of the run; None: those of the diagram

    ``linear`` of the contents has ``names`` and ``units`` of the components, ``A, B, C, D``, ``dt`` [s] (0:
    continuous), ``poles`` as pairs, ``margins`` by name, and ``notes``; or ``problem`` alone where there is
    no such model. More than 60 signals or 150 states are a problem.
    """
    if isinstance(drawn, Netlist):
        page.content["linear"] = {"problem": "a flat system was run; run the diagram it was made from."}
        return
    names = list(dict.fromkeys(_wires(page.content["diagram"]["root"])))
    problem = ""
    if len(names) > MOST_SIGNALS or len(system.x0) > MOST_STATES:
        problem = (
            f"{len(names)} signals and {len(system.x0)} states are more than the page analyses "
            f"({MOST_SIGNALS} and {MOST_STATES}); use cosim.linearize between those of interest."
        )
    elif not names:
        problem = "there is no wire."
    if problem:
        page.content["linear"] = {"problem": problem}
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = linearize(drawn, inputs=names, outputs=names, at=start)
        except PlantloopError as error:
            page.content["linear"] = {"problem": str(error)}
            return
        components = [
            (c, leaf.unit(k)) for leaf in _leaves(system, names) for k, c in enumerate(leaf.components)
        ]
        found: dict[str, Any] = {}
        for name, _ in components:
            try:
                m = margins(drawn, name, start)
            except PlantloopError:  # no loop goes through it
                continue
            found[name] = {
                "stable": m.stable,
                "gain": [_finite(g) for g in m.gain],
                "phase": _finite(m.phase),
                "delay": _finite(m.delay),
                "disk": _finite(m.disk),
                "crossover": _finite(m.crossover),
                "phase_crossover": _finite(m.phase_crossover),
            }
    poles = np.asarray(model.poles(), dtype=complex)
    page.content["linear"] = {
        "names": [name for name, _ in components],
        "units": [unit for _, unit in components],
        **{letter: page.numbers.put(getattr(model, letter)) for letter in "ABCD"},
        "dt": float(model.dt or 0.0),
        "poles": page.numbers.put(np.array([poles.real, poles.imag])),
        "margins": found,
        "notes": sorted({str(w.message) for w in caught}),
    }


def _wires(level: dict[str, Any]) -> list[str]:
    """Signals of all wires of a diagram and those in it."""
    found = [edge["signal"] for edge in level["edges"] if edge["signal"]]
    for node in level["nodes"]:
        if "inside" in node:
            found += _wires(node["inside"])
    return found


def _leaves(system: System, names: list[str]) -> list[Any]:
    tree = system.tree(names)
    return [tree[name] for name in names]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
