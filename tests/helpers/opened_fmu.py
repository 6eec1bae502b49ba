"""An FMU opened with FMPy and stepped by hand, version 2 and 3 alike: an importer that is not ours.

``python -m tests.helpers.opened_fmu FMU STATE TIME STEP COUNT NAME...`` goes on from a serialised state.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import fmpy
from fmpy.simulation import instantiate_fmu


class Opened:
    """One instance; `log` is what it said."""

    def __init__(
        self, path, kind="CoSimulation", start=0.0, stop=None, values=None, initialise=True, folder=None,
        logging=True,
    ):  # fmt: skip
        self._folder = tempfile.TemporaryDirectory() if folder is None else None
        place = folder or fmpy.extract(str(path), self._folder.name)
        self.place = place
        self.description = fmpy.read_model_description(place)
        self.is_2 = self.description.fmiVersion == "2.0"
        self.variables = {v.name: v for v in self.description.modelVariables}
        self.log = []
        self.unit = instantiate_fmu(
            place,
            self.description,
            kind,
            debug_logging=logging,
            logger=lambda *a: self.log.append(a[-1].decode()),
        )
        self.start, self.stop, self.time = start, stop, start
        if initialise:
            self.initialise(values)

    def initialise(self, values=None):
        self.time = self.start
        if self.is_2:
            self.unit.setupExperiment(startTime=self.start, stopTime=self.stop)
            self.unit.enterInitializationMode()
        else:
            self.unit.enterInitializationMode(startTime=self.start, stopTime=self.stop)
        for name, value in (values or {}).items():
            self.set(name, value)
        self.unit.exitInitializationMode()

    def refs(self, *names):
        return [self.variables[n].valueReference for n in names]

    def size(self, name):
        size = 1
        for d in getattr(self.variables[name], "dimensions", None) or []:
            size *= int(d.start)
        return size

    def get(self, name):
        if self.is_2:
            return self.unit.getReal(self.refs(name))[0]
        found = self.unit.getFloat64(self.refs(name), nValues=self.size(name))
        return found[0] if len(found) == 1 else list(found)

    def all(self, names):
        return [self.get(n) for n in names]

    def set(self, name, value):
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        (self.unit.setReal if self.is_2 else self.unit.setFloat64)(self.refs(name), values)

    def step(self, h):
        self.unit.doStep(currentCommunicationPoint=self.time, communicationStepSize=h)
        self.time += h

    def save(self):
        return self.time, (self.unit.getFMUstate() if self.is_2 else self.unit.getFMUState())

    def load(self, saved):
        self.time = saved[0]
        (self.unit.setFMUstate if self.is_2 else self.unit.setFMUState)(saved[1])

    def bytes(self):
        _, state = self.save()
        return self.unit.serializeFMUstate(state) if self.is_2 else self.unit.serializeFMUState(state)

    def from_bytes(self, text):
        u = self.unit
        state = u.deSerializeFMUstate(text) if self.is_2 else u.deserializeFMUState(text)
        (u.setFMUstate if self.is_2 else u.setFMUState)(state)

    def forward(self, unknowns, knowns, seed):
        return self.unit.getDirectionalDerivative(self.refs(*unknowns), self.refs(*knowns), seed)

    def close(self):
        self.unit.freeInstance()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.close()


def main(path, state, time, step, count, *names):
    """Go on from a serialised state."""
    with Opened(path, initialise=False) as unit:
        unit.initialise()
        unit.from_bytes(Path(state).read_bytes())
        unit.time = float(time)
        for _ in range(int(count)):
            unit.step(float(step))
        print(*[v.hex() for v in unit.all(names)])


if __name__ == "__main__":
    main(*sys.argv[1:])
