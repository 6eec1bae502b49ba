"""One case of a study by itself: repeated, bit for bit, or replayed from shortly before it failed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.result.result import Result
from cosim.simulation import Simulation
from cosim.study.running import Runner
from cosim.study.store import FAILURES, StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.study.work import case_columns, simulation


@dataclass(frozen=True)
class OneCase:
    """Case `number` of a plan; `store` holds its snapshot where it failed in a study."""

    plan: StudyPlan
    number: int
    store: StudyStore | None = None

    def __repr__(self) -> str:
        return f"<case {self.number} of {len(self.plan.cases)}: '{self.plan.name}'>"

    @property
    def parameters(self) -> dict[str, Any]:
        """The definition of the case: variant, seed, numbers by name."""
        found = case_columns(self.plan, np.array([self.number]))
        return {name: value[0] for name, value in found.items()}

    @cached_property
    def measures(self) -> dict[str, Any]:
        """The metrics, requirements, status and message of the case, computed again: its row of the table."""
        runner = Runner(self.plan)
        try:
            return {name: value[0] for name, value in runner.run([self.number]).table.items()}
        finally:
            runner.close()

    @cached_property
    def result(self) -> Result:
        """All signals at the instants of the study's grid; for a run that fails, up to the failure."""
        return self.run()

    def run(self, engine: str | None = None) -> Result:
        """Run the case with the engine of the study or another one."""
        with self.simulation(engine) as sim:
            sim.log(self.times)
            try:
                sim.advance(self.until)
            except PlantloopError as error:
                if error.result is None:
                    raise
                found: Result = error.result
                return found
            return sim.result()

    def simulation(self, engine: str | None = None) -> Simulation:
        """A simulation of the case at its start, to be run step by step."""
        return simulation(self.plan, self.number, engine)

    def replayed(self, engine: str = "reference") -> Simulation:
        """The last steps before the failure, every step logged; without a snapshot, from the start.

        Raises
        ------
        PlantloopError     the snapshot is of another model
        """
        sim = self.simulation(engine)
        name = f"{FAILURES}/{self.number}.npz"
        if self.store is not None and self.store.folder.exists(name):
            with tempfile.TemporaryDirectory() as place:
                path = Path(place) / "snapshot.npz"
                path.write_bytes(self.store.folder.read(name))
                sim.load(path)
        sim.log(None)
        return sim

    @property
    def times(self) -> np.ndarray:
        """Instants of the study's grid up to the end of the case, and this end [s]."""
        return self.plan.times_of(self._variant)

    @property
    def until(self) -> float:
        """The end of the case, which is that of its variant [s]."""
        return self.plan.bases[self._variant].until

    @property
    def _variant(self) -> int:
        return int(self.plan.cases.variant[self.number])
