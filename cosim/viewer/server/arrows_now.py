"""Arrows of a plant during a run: velocities; forces and reactions if they are requested or available."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cosim.simulation import Simulation
from cosim.viewer.arrow_data import MANY, Flat, ForcesFound, described
from plant.arrows import Arrow, arrows_of, point_velocity, units_of, velocities_of

ValueOf = Callable[[str], np.ndarray]


class ArrowsNow:
    """Values of the arrows of one plant at the present instant of a simulation.

    plant, path : the block and where it is; driven : signals that are the values of its inputs, where these
    are no signals themselves; forces : how its observed version becomes a flat system, None: only what the
    run has itself

    Raises
    ------
    PlantloopError      forces are asked for, and depend on what is held between instants
    """

    def __init__(
        self, plant: Any, path: str, sim: Simulation, driven: Mapping[str, str], forces: Flat | None
    ) -> None:
        self._value: ValueOf = lambda name: sim.value(driven.get(name, name))
        self.path, self._sim = path, sim
        self.units = units_of(plant)
        links = plant.mechanism.links
        names = [f"{path}.{link.name}" for link in links]
        self._q = [f"{n}.q" for n, link in zip(names, links, strict=True) if link.joint.nq]
        self._qd = [f"{n}.qd" for n, link in zip(names, links, strict=True) if link.joint.nv]
        wanted = arrows_of(plant) if len(links) <= MANY or forces is not None else ()
        logged = {a.output for a in wanted if f"{path}.{a.output}" in sim.system.signals}
        missing = sorted({a.output for a in wanted if a.kind != "velocity"} - logged)
        self._found: ForcesFound | None = None
        if missing and forces is not None:
            self._found = ForcesFound.of(plant, path, missing, forces)
        have = logged | set(() if self._found is None else self._found.names)
        self.arrows: tuple[Arrow, ...] = tuple(a for a in wanted if a.kind == "velocity" or a.output in have)
        self._logged = sorted(logged)
        self._velocities = velocities_of(plant.mechanism)

    @property
    def width(self) -> int:
        """Numbers of `values`."""
        return 3 * len(self.arrows)

    def described(self, put: Callable[[Any], Any]) -> list[dict[str, Any]]:
        """The description of the arrows for a page, which takes their values from the rows it gets."""
        return [described(a, self.units, put(np.zeros((1, 3)))) for a in self.arrows]

    def values(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
        """(3 arrows,) along global axes.

        q : (nq,) coordinates of all links; poses : (links, 12), see `Scene.poses`
        """
        if not self.arrows:
            return np.zeros(0)
        sim = self._sim
        qd = np.concatenate([np.zeros(0), *(sim.value(name) for name in self._qd)])
        spins = np.array(self._velocities(q, qd)).reshape(-1, 6)
        axes = poses[:, 3:].reshape(-1, 3, 3).transpose(0, 2, 1)
        outputs = {name: sim.value(f"{self.path}.{name}") for name in self._logged}
        if self._found is not None:
            p = sim.snapshot_of_start().p
            outputs |= self._found.at(sim.time, self._value, lambda name: self._parameter(name, p))
        found = []
        for a in self.arrows:
            if a.output in outputs:
                found.append(outputs[a.output][a.first : a.first + 3])
            else:
                found.append(point_velocity(spins[a.link][None], axes[a.link][None], a.point)[0])
        return np.concatenate(found)

    def _parameter(self, name: str, p: np.ndarray) -> Any:
        parameter = self._sim.system.parameters.get(name)
        if parameter is None:
            return None
        value = np.zeros(parameter.shape)
        value[parameter.mask] = p[parameter.index]
        return value
