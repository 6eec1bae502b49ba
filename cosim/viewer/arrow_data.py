"""Velocities, forces and reactions of a plant in a run, as arrows a page draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from blocks.errors import PlantloopError
from cosim.system import System

if TYPE_CHECKING:
    from plant.arrows import Arrow

NOTHING = 1e-9  # relative to the largest of a kind
MANY = 60  # bodies above which nothing but lines is drawn
Flat = Callable[[Any], System]
ALONE = "plant."  # how the signals of a block alone begin


def arrows(
    plant: Any,
    path: str,
    result: Any,
    rows: np.ndarray,
    put: Callable[[Any], Any],
    forces: Flat | None = None,
) -> list[dict[str, Any]]:
    """What a page says of them, with their values at some logged instants; zeros are left out.

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
        {
            "name": a.name, "kind": a.kind, "turning": a.turning, "link": a.link, "point": a.point.tolist(),
            "unit": units["velocity" if a.kind == "velocity" else "torque" if a.turning else "force"],
            "values": put(shown),
        }
        for a, shown in found
        if np.abs(shown).max(initial=0.0) > NOTHING * size[a.kind]  # else it is zero but for rounding
    ]  # fmt: skip


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


def _computed(plant: Any, path: str, result: Any, outputs: list[str], flat: Flat) -> dict[str, np.ndarray]:
    """Outputs of the observed plant at the logged states and inputs, (n, k) each."""
    system = flat(plant.observed())
    function = system.outputs_of([ALONE + name for name in outputs if ALONE + name in system.signals])
    places = {}
    for name, slot in system.states.items():
        places[f"{path}.{name.removeprefix(ALONE)}"] = slot.index
    inputs = [f"{path}.{name}" for name in system.inputs]
    needed = [*places, *inputs]
    absent = [name for name in needed if name not in result.signals]
    kept = _memories(system, outputs)
    if absent or kept:
        why = f"'{absent[0]}' was not logged" if absent else f"they depend on '{kept[0]}' between instants"
        raise PlantloopError(
            f"forces of '{path}' cannot be found from what was logged: {why}.",
            path=path,
            hint="Run the diagram with plant.observed() in the place of the plant.",
        )
    count = len(result.time)
    x, u = np.zeros((count, len(system.x0))), np.zeros((count, len(function.u0)))
    for name, index in places.items():
        x[:, index] = result.signals[name]
    if inputs:
        u[:] = np.concatenate([result.signals[name] for name in inputs], axis=1)
    p = system.p0.copy()
    for name, parameter in system.parameters.items():
        changed = result.settings.get(f"{path}.{name.removeprefix(ALONE)}")
        if changed is not None:
            p[parameter.index] = changed.value
    rows = [function(float(t), x[k], u[k], p) for k, t in enumerate(result.time)]
    values, found, start = np.array(rows), {}, 0
    for name in outputs:
        if ALONE + name in system.signals:
            size = system.signals[ALONE + name].size
            found[name] = values[:, start : start + size]
            start += size
    return found


def _memories(system: System, outputs: list[str]) -> list[str]:
    """What is held between instants, other than inputs, that outputs of a block alone depend on."""
    inputs = {int(k) for slot in system.inputs.values() for k in slot.index}
    looked = [system.signals[ALONE + n].expression for n in outputs if ALONE + n in system.signals]
    expression = ca.vertcat(*looked, system.residual)
    found = []
    for name, slot in system.held.items():
        own = [int(k) for k in slot.index if int(k) not in inputs]
        if own and ca.depends_on(expression, system.h[own]):
            found.append(name.removeprefix(ALONE))
    return found
