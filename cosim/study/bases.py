"""The models that a study runs: a scenario, or a diagram with its settings; one for every variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blocks.contract.block import Block
from cosim.block_alone import around
from cosim.diagram import Diagram
from cosim.scenario.blocks import files_read
from cosim.scenario.factory import module_file
from cosim.scenario.scenario import Scenario
from cosim.settings import RunSettings
from cosim.study.loading import naming_variant
from cosim.system import System


@dataclass(frozen=True)
class Base:
    """A model with the numbers, inputs and settings all cases share.

    made : Scenario or Diagram; until : s; log_every, signals : what a stored run shows where the study says
        nothing; built : numbers of its cases that it is built with
    """

    name: str
    made: Scenario | Diagram
    until: float
    settings: RunSettings = field(default_factory=RunSettings)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    initial: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    log_every: Any = None
    signals: Sequence[str] | None = None
    built: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of_scenario(scenario: Scenario, name: str = "") -> Base:
        """The base that a scenario describes."""
        run, outputs = scenario.tables.run, scenario.tables.outputs
        return Base(
            name or scenario.name,
            scenario,
            run.until,
            scenario.settings(),
            scenario.tables.parameters,
            scenario.tables.initial,
            {},
            None if run.log_every == "step" else run.log_every,
            outputs.signals or None,
        )

    def system(self) -> System:
        """The flat system, made once; the names that a scenario uses are checked."""
        if "_system" not in vars(self):
            vars(self)["_system"] = self._flattened()
        found: System = vars(self)["_system"]
        return found

    def _flattened(self) -> System:
        if isinstance(self.made, Scenario):
            with naming_variant(self.made.source):
                return self.made.system()
        return self.made.system(self.settings.solve_loops, driven=self.settings.driven)

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without the system that is derived from them."""
        return {name: value for name, value in vars(self).items() if name != "_system"}

    def diagram(self) -> Diagram:
        """The diagram."""
        return self.made.diagram() if isinstance(self.made, Scenario) else self.made

    def files(self) -> list[Path]:
        """The files that the model was read from, each where its scenario says, the scenario first."""
        if not isinstance(self.made, Scenario):
            return []
        source, tables = self.made.source, self.made.tables
        named = [] if tables.model is None else [tables.model.file]
        named += [*files_read(source.tables), *(fmu.file for fmu in tables.fmus.values())]
        found = [source.path, *(source.path.parent / name for name in named)]
        if tables.diagram is not None:
            found.append(module_file(source.path, tables.diagram.factory))
        return found


def drawn_diagram(model: Diagram | Block) -> Diagram:
    """A diagram as it is, a block in one of its own."""
    return model if isinstance(model, Diagram) else around(model)
