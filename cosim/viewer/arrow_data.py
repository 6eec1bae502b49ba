"""Velocities, forces and reactions of a plant in a run, as arrows a page draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from blocks.errors import PlantloopError
from cosim.functions import PureFunction
from cosim.system import System

if TYPE_CHECKING:
    from plant.arrows import Arrow

NOTHING = 1e-9  # relative to the largest arrow of a kind
MANY = 60  # with more bodies only lines are drawn
Flat = Callable[[Any], System]
ALONE = "plant."  # prefix of the signals of a block alone


def arrows(
    plant: Any,
    path: str,
    result: Any,
    rows: np.ndarray,
    put: Callable[[Any], Any],
    forces: Flat | None = None,
) -> list[dict[str, Any]]:
    """The arrows as a page describes them, with values at some logged instants; zero arrows are left out.

    Parameters
    ----------
    path : str              of the plant in the diagram
    rows : (m,) int         numbers of the logged instants that are shown
    put : function          keeps an array, returns what refers to it
    forces : function       of a block, its flat system, to find forces and reactions not logged from
                            the states that were; None: they are left out

    Raises
    ------
    PlantloopError      forces are asked for, and what they depend on was not logged
    """
    from plant.arrows import arrows_of, units_of

    mechanism, units = plant.mechanism, units_of(plant)
    if len(mechanism.links) > MANY and forces is None:
        return []
    wanted = arrows_of(plant)
    values = {a.output: result.signals.get(f"{path}.{a.output}") for a in wanted}
    missing = [name for name, v in values.items() if v is None]
    if missing and forces is not None:
        values |= _computed(plant, path, result, missing, forces)
    velocity = _velocities(plant, path, result, rows)
    found: list[tuple[Arrow, np.ndarray]] = []
    for a in wanted:
        have = values[a.output]
        if have is not None:
            found.append((a, have[rows, a.first : a.first + 3]))
        elif a.kind == "velocity" and velocity is not None:
            found.append((a, velocity(a.link, a.point)))
    size = dict.fromkeys(("velocity", "force", "reaction"), 0.0)
    for a, shown in found:
        size[a.kind] = max(size[a.kind], float(np.abs(shown).max(initial=0.0)))
    return [
        described(a, units, put(shown))
        for a, shown in found
        if np.abs(shown).max(initial=0.0) > NOTHING * size[a.kind]  # otherwise it is zero except for rounding
    ]


def described(a: Arrow, units: dict[str, str], values: Any) -> dict[str, Any]:
    """The description of an arrow in a page; values refer to (m, 3) numbers."""
    load = "torque" if a.turning else "force"
    unit = units["velocity" if a.kind == "velocity" else load]
    return {
        "name": a.name, "kind": a.kind, "turning": a.turning, "link": a.link, "point": a.point.tolist(),
        "unit": unit, "values": values,
    }  # fmt: skip


def _velocities(plant: Any, path: str, result: Any, rows: np.ndarray) -> Any:
    """Function of a link and a point: (m, 3) its velocities; None where rates were not logged."""
    from plant.arrows import point_velocity, velocities_of
    from plant.scene import poses_of

    links = plant.mechanism.links
    names = [f"{path}.{link.name}" for link in links]
    kept = []
    for suffix, sizes in (("q", [j.joint.nq for j in links]), ("qd", [j.joint.nv for j in links])):
        own = [f"{n}.{suffix}" for n, size in zip(names, sizes, strict=True) if size]
        if not own or not all(n in result.signals for n in own):
            return None
        kept.append(np.concatenate([result.signals[n][rows] for n in own], axis=1))
    q, qd = kept
    count = len(rows)
    spins = np.array(velocities_of(plant.mechanism).map(count)(q.T, qd.T)).T.reshape(count, len(links), 6)
    poses = np.array(poses_of(plant.mechanism).map(count)(q.T)).T.reshape(count, len(links), 12)
    axes = poses[:, :, 3:].reshape(count, len(links), 3, 3).transpose(0, 1, 3, 2)

    def at(link: int, point: np.ndarray) -> np.ndarray:
        return point_velocity(spins[:, link], axes[:, link], point)

    return at


@dataclass(frozen=True)
class ForcesFound:
    """Outputs of the observed plant, computed from the log of a run of the plain one.

    names : outputs, sizes : components of each; states, inputs : what they depend on, as the run calls it
    """

    plant: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    system: System
    function: PureFunction
    states: dict[str, Any]
    inputs: tuple[str, ...]

    @staticmethod
    def of(plant: Any, path: str, outputs: Sequence[str], flat: Flat) -> ForcesFound:
        """The forces of the plant at a path.

        Raises
        ------
        PlantloopError      they depend on what is held between instants
        """
        system = flat(plant.observed())
        names = tuple(name for name in outputs if ALONE + name in system.signals)
        if kept := _memories(system, names):
            raise _not_found(path, f"they depend on '{kept[0]}' between instants")
        own = lambda name: f"{path}.{name.removeprefix(ALONE)}"
        return ForcesFound(
            path,
            names,
            tuple(system.signals[ALONE + name].size for name in names),
            system,
            system.outputs_of([ALONE + name for name in names]),
            {own(name): slot.index for name, slot in system.states.items()},
            tuple(own(name) for name in system.inputs),
        )

    def at(
        self, t: float, value: Callable[[str], np.ndarray], parameter: Callable[[str], Any]
    ) -> dict[str, np.ndarray]:
        """Each output, (k,), at a time [s].

        value : of a state or input of the run, (k,); parameter : of the run, None where it was not changed
        """
        x, p = np.zeros(len(self.system.x0)), self.system.p0.copy()
        for name, index in self.states.items():
            x[index] = value(name)
        u = np.concatenate([np.zeros(0), *(np.ravel(value(name)) for name in self.inputs)])
        for name, slot in self.system.parameters.items():
            given = parameter(f"{self.plant}.{name.removeprefix(ALONE)}")
            if given is not None:
                p[slot.index] = np.asarray(given)[slot.mask] if np.ndim(given) else given
        row = np.asarray(self.function(t, x, u, p))
        parts = np.split(row, np.cumsum(self.sizes)[:-1]) if self.sizes else []
        return dict(zip(self.names, parts, strict=True))


def _computed(plant: Any, path: str, result: Any, outputs: list[str], flat: Flat) -> dict[str, np.ndarray]:
    """Outputs of the observed plant at the logged states and inputs, (n, k) each."""
    found = ForcesFound.of(plant, path, outputs, flat)
    if absent := [name for name in (*found.states, *found.inputs) if name not in result.signals]:
        raise _not_found(path, f"'{absent[0]}' was not logged")
    changed = {name: setting.value for name, setting in result.settings.items()}
    rows = []
    for k, t in enumerate(result.time):
        rows.append(found.at(float(t), lambda name, k=k: result.signals[name][k], changed.get))  # type: ignore[misc]
    return {name: np.array([row[name] for row in rows]) for name in found.names}


def _not_found(path: str, why: str) -> PlantloopError:
    return PlantloopError(
        f"forces of '{path}' cannot be found from what was logged: {why}.",
        path=path,
        hint="Run the diagram with plant.observed() in the place of the plant.",
    )


def _memories(system: System, outputs: Sequence[str]) -> list[str]:
    """Memories, other than held inputs, that outputs of a block alone depend on."""
    inputs = {int(k) for slot in system.inputs.values() for k in slot.index}
    looked = [system.signals[ALONE + n].expression for n in outputs if ALONE + n in system.signals]
    expression = ca.vertcat(*looked, system.residual)
    found = []
    for name, slot in system.held.items():
        own = [int(k) for k in slot.index if int(k) not in inputs]
        if own and ca.depends_on(expression, system.h[own]):
            found.append(name.removeprefix(ALONE))
    return found
