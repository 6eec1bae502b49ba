"""Wire blocks into diagrams and run them: the diagram, the scheduler, the engines, linear models.

==================  =====================================================================
`Diagram`           blocks and the connections between them
`simulate`          run a diagram from start to end; returns a `Result`
`simulate_many`     parameter sweeps and Monte Carlo: many runs, compiled once
`Simulation`        run a diagram step by step: advance, look, change, snapshot, restore
`Result`            what a run leaves behind: signals, ticks, events, plots, files
`linearize`         linear model with exact derivatives, as a python-control state space
`trim`              operating point at rest, an `OperatingPoint`
`check`             equations that jump at a switch which is no event
`modes_of`          eigenvalues, frequencies, damping and shapes of a linear model
`RunSettings`       solver, steps, tolerances, engine, seed: what all of these run with
`system_of`         the flat system: f(t, x, u, p) and its Jacobians as NumPy functions
`run_deck`          run the Command block of a MotionSolve deck as it stands
==================  =====================================================================

Blocks are in the package `blocks`, multibody models in `plant`. A signal is named "block.port",
"sub/block.port" inside a subsystem, and "block.port[i]" or "block.port.label" is one component of it.

Names are imported on first use, so that ``import cosim`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cosim.version import __version__

if TYPE_CHECKING:
    from cosim.analysis.check import check
    from cosim.analysis.linear import linearize
    from cosim.analysis.modes import modes_of
    from cosim.analysis.operating import OperatingPoint
    from cosim.analysis.trim import trim
    from cosim.batch.many import simulate_many
    from cosim.deck.run import run_deck
    from cosim.diagram import Diagram, system_of
    from cosim.result.result import Result
    from cosim.settings import RunSettings
    from cosim.simulation import Simulation, simulate

_HOMES = {
    "Diagram": "cosim.diagram",
    "check": "cosim.analysis.check",
    "OperatingPoint": "cosim.analysis.operating",
    "Result": "cosim.result.result",
    "RunSettings": "cosim.settings",
    "Simulation": "cosim.simulation",
    "linearize": "cosim.analysis.linear",
    "modes_of": "cosim.analysis.modes",
    "run_deck": "cosim.deck.run",
    "simulate": "cosim.simulation",
    "simulate_many": "cosim.batch.many",
    "system_of": "cosim.diagram",
    "trim": "cosim.analysis.trim",
}

__all__ = [
    "Diagram",
    "OperatingPoint",
    "Result",
    "RunSettings",
    "Simulation",
    "__version__",
    "check",
    "linearize",
    "modes_of",
    "run_deck",
    "simulate",
    "simulate_many",
    "system_of",
    "trim",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cosim' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
