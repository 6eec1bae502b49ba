"""A linear model of a diagram in the page: from any wire to any other, with the margins of its loops."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.analysis.linear import linearize
from cosim.analysis.margins import HeldLoopWarning, margins
from cosim.compile.netlist import Netlist
from cosim.run.context import Context
from cosim.system import System
from cosim.viewer.linear_instants import MOST_INSTANTS, points_of
from cosim.viewer.page_data import PageData

MOST_SIGNALS = 60
MOST_STATES = 150
MOST_NUMBERS = 200_000  # of all models about later instants
MOST_MARGINS = 24  # of these: each takes about as long as the models of a small diagram together


def add_linear(
    page: PageData, drawn: Any, system: System, start: Context | None = None, result: Any = None
) -> None:
    """Matrices of the model about the start: inputs added to signals of wires, outputs these.

    start : with the parameters and initial values of the run; None: those of the diagram
    result : of that run (`cosim.Result`), where models about later instants are wanted too

    ``linear`` of the contents has ``names`` and ``units`` of the components, ``dt`` [s] (0: continuous), and
    ``models``, each with its ``time``, ``A, B, C, D``, ``poles`` as pairs, ``margins`` by name (None: not
    computed) and ``notes``; ``only`` says why there are none about later instants. Or it has ``problem``
    alone where there is no such model. More than 60 signals or 150 states are a problem.
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
    leaves = _leaves(system, names)
    components = [c for leaf in leaves for c in leaf.components]
    try:
        first = _model(page, drawn, names, components, start)
    except PlantloopError as error:
        page.content["linear"] = {"problem": str(error)}
        return
    later, only = _later(page, drawn, names, first, (system, start, result))
    page.content["linear"] = {
        "names": components,
        "units": [leaf.unit(k) for leaf in leaves for k in range(leaf.size)],
        "dt": first["dt"],
        "models": [first, *later],
        "only": only,
    }


def _later(
    page: PageData,
    drawn: Any,
    names: list[str],
    first: dict[str, Any],
    run: tuple[System, Context | None, Any],
) -> tuple[list[dict[str, Any]], str]:
    """Models about later instants of a run, and the reason if there are none."""
    system, start, result = run
    if start is None or result is None:
        return [], ""
    size = sum(int(np.prod(first[letter]["shape"])) for letter in "ABCD")
    count = min(MOST_INSTANTS, MOST_NUMBERS // max(size, 1))
    if not count:
        return [], "about the start only: the model is too large to be kept for several instants."
    try:
        points = points_of(result, system, start, count)
        loops = list(first["margins"]) if len(first["margins"]) * len(points) <= MOST_MARGINS else None
        return [_model(page, drawn, names, loops, point) for point in points], ""
    except PlantloopError as error:
        return [], str(error)


def _model(
    page: PageData, drawn: Any, names: list[str], loops: list[str] | None, at: Context | None
) -> dict[str, Any]:
    """The model about one point, with the margins of the loops through some components; None: of none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = linearize(drawn, inputs=names, outputs=names, at=at)
        found = None if loops is None else _margins(drawn, loops, at)
    poles = np.asarray(model.poles(), dtype=complex)
    return {
        "time": 0.0 if at is None else at.t,
        **{letter: page.numbers.put(getattr(model, letter)) for letter in "ABCD"},
        "dt": float(model.dt or 0.0),
        "poles": page.numbers.put(np.array([poles.real, poles.imag])),
        "margins": found,
        "notes": _notes(caught),
    }


def _notes(caught: list[warnings.WarningMessage]) -> list[str]:
    """Warnings about margins; one for all loops with a hold."""
    held = sorted({str(w.message) for w in caught if w.category is HeldLoopWarning})
    found = sorted({str(w.message) for w in caught if w.category is not HeldLoopWarning})
    more = f" So it is at {len(held) - 1} more signals." if len(held) > 1 else ""
    return [*found, *(text + more for text in held[:1])]


def _margins(drawn: Any, components: list[str], at: Context | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in components:
        try:
            m = margins(drawn, name, at)
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
    return found


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
