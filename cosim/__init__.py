"""Wire blocks into diagrams and run them: the diagram, the scheduler, the engines, linear models.

==================  =====================================================================
`Diagram`           blocks and the connections between them
`Enabled`           a subsystem that runs while its input "enable" is above 0; beside it `Triggered`,
                    `FunctionCall`, `Resettable`, `If`, `SwitchCase`, `Variant`,
                    `For`, `While` and `ForEach`
`simulate`          run a diagram from start to end; returns a `Result`
`simulate_many`     parameter sweeps and Monte Carlo: many runs, compiled once
`Simulation`        run a diagram step by step: advance, look, change, snapshot, restore
`Result`            what a run leaves behind: signals, ticks, events, plots, files
`linearize`         linear model with exact derivatives, as a python-control state space
`gain_schedule`     a feedback designed at every operating point of a table, as one block
`margins`           gain, phase, delay and disk margins of a loop
`frequency_response` of the linear model (delays exact), or measured with sines in a simulation
`delay_audit`       every delay in a loop: who brings it in, and what it costs
`trim`              operating point at rest, an `OperatingPoint`; `trim_table` at every point of a grid
`export_fmu`        a diagram, a plant or a block as an FMU that runs without Python
`import_ssp`        a system structure (SSP) of FMUs as a diagram; `export_ssp` writes one
`check`             equations that jump at a switch which is no event
`Study`             many cases of a model: sweeps, samples, metrics, requirements; resumable
`open_study`        the results of a study, at any time, also while it runs
`modes_of`          eigenvalues, frequencies, damping and shapes of a linear model
`Coupling`          how co-simulated FMUs are put together: order, extrapolation, iteration
`RunSettings`       solver, steps, tolerances, engine, seed: what all of these run with
`system_of`         the flat system: f(t, x, u, p) and its Jacobians as NumPy functions
`FMU`               an FMU of FMI 2.0 or 3.0 as a block, or stepped by hand
`replay`            the last steps before a failure once more, every one kept
`run_deck`          run the Command block of a MotionSolve deck as it stands
==================  =====================================================================

Blocks are in the package `blocks`, multibody models in `plant`. A signal is named "block.port",
"sub/block.port" inside a subsystem, and "block.port[i]" or "block.port.label" is one component of it.

Names are imported on first use, so that ``import cosim`` stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import blocks
from blocks.contract.services import register
from blocks.elsewhere import known_elsewhere
from blocks.exports import Exports
from cosim.services import ModelServices
from cosim.version import __version__ as __version__

if TYPE_CHECKING:
    from cosim.analysis.check import check as check
    from cosim.analysis.delay_audit import delay_audit as delay_audit
    from cosim.analysis.frequency_response import frequency_response as frequency_response
    from cosim.analysis.gain_schedule import gain_schedule as gain_schedule
    from cosim.analysis.linear import linearize as linearize
    from cosim.analysis.margins import margins as margins
    from cosim.analysis.modes import modes_of as modes_of
    from cosim.analysis.operating import OperatingPoint as OperatingPoint
    from cosim.analysis.trim import trim as trim
    from cosim.analysis.trim_table import trim_table as trim_table
    from cosim.batch.many import simulate_many as simulate_many
    from cosim.block_alone import system_of as system_of
    from cosim.deck.run import run_deck as run_deck
    from cosim.diagram import Diagram as Diagram
    from cosim.fmi.coupling.coupling import Coupling as Coupling
    from cosim.fmi.export.fmu_file import export_fmu as export_fmu
    from cosim.fmi.fmu import FMU as FMU
    from cosim.fmi.ssp.importing import import_ssp as import_ssp
    from cosim.fmi.ssp.ssd_writer import export_ssp as export_ssp
    from cosim.last_steps import replay as replay
    from cosim.result.result import Result as Result
    from cosim.settings import RunSettings as RunSettings
    from cosim.simulation import Simulation as Simulation
    from cosim.simulation import simulate as simulate
    from cosim.study.opening import open_study as open_study
    from cosim.study.study import Study as Study
    from cosim.subsystems.choices import If as If
    from cosim.subsystems.choices import SwitchCase as SwitchCase
    from cosim.subsystems.choices import Variant as Variant
    from cosim.subsystems.for_each import ForEach as ForEach
    from cosim.subsystems.loops import For as For
    from cosim.subsystems.loops import While as While
    from cosim.subsystems.parts import Enabled as Enabled
    from cosim.subsystems.parts import FunctionCall as FunctionCall
    from cosim.subsystems.parts import Resettable as Resettable
    from cosim.subsystems.parts import Triggered as Triggered

_HOMES = {
    "__version__": "cosim.version",
    "export_ssp": "cosim.fmi.ssp.ssd_writer",
    "import_ssp": "cosim.fmi.ssp.importing",
    "Coupling": "cosim.fmi.coupling.coupling",
    "Diagram": "cosim.diagram",
    "export_fmu": "cosim.fmi.export.fmu_file",
    "FMU": "cosim.fmi.fmu",
    "Enabled": "cosim.subsystems.parts",
    "For": "cosim.subsystems.loops",
    "ForEach": "cosim.subsystems.for_each",
    "FunctionCall": "cosim.subsystems.parts",
    "While": "cosim.subsystems.loops",
    "Variant": "cosim.subsystems.choices",
    "SwitchCase": "cosim.subsystems.choices",
    "If": "cosim.subsystems.choices",
    "Resettable": "cosim.subsystems.parts",
    "Triggered": "cosim.subsystems.parts",
    "check": "cosim.analysis.check",
    "OperatingPoint": "cosim.analysis.operating",
    "Result": "cosim.result.result",
    "RunSettings": "cosim.settings",
    "Simulation": "cosim.simulation",
    "Study": "cosim.study.study",
    "delay_audit": "cosim.analysis.delay_audit",
    "frequency_response": "cosim.analysis.frequency_response",
    "gain_schedule": "cosim.analysis.gain_schedule",
    "linearize": "cosim.analysis.linear",
    "margins": "cosim.analysis.margins",
    "modes_of": "cosim.analysis.modes",
    "open_study": "cosim.study.opening",
    "replay": "cosim.last_steps",
    "run_deck": "cosim.deck.run",
    "simulate": "cosim.simulation",
    "simulate_many": "cosim.batch.many",
    "system_of": "cosim.block_alone",
    "trim": "cosim.analysis.trim",
    "trim_table": "cosim.analysis.trim_table",
}


register(ModelServices())
if not TYPE_CHECKING:  # type checkers see what is imported above, and nothing else
    _exports = Exports(
        __name__, _HOMES, elsewhere=lambda name: known_elsewhere(name, blocks.__all__, {*_HOMES})
    )
    __getattr__, __dir__ = _exports.get, _exports.dir
