"""Operating points over a grid: what `trim` finds for combinations of values, each from its neighbour."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.contract.block import Block
from blocks.errors import PlantloopError, near_miss
from cosim.analysis.operating import OperatingPoint, diagram_of, model_of
from cosim.analysis.trim import trim
from cosim.built_for import structural
from cosim.diagram import Diagram
from cosim.names import listed, mapped
from cosim.system import System

SHOWN = 20  # points of a table that are printed
NEAR = 1e-9  # relative: values this close are one


@dataclass(frozen=True)
class OperatingTable:
    """Operating points over a grid.

    names : what varies; axes : (n_k,) its values, one array per name, in the order given
    points : OperatingPoint for each combination, an object array of shape (n_1, n_2, ...)
    """

    names: tuple[str, ...]
    axes: tuple[np.ndarray, ...]
    points: np.ndarray

    def at(self, *values: float) -> OperatingPoint:
        """The point of the grid at these values; ``gain_schedule(..., at=table.at)`` takes it.

        Raises
        ------
        PlantloopError      as many values as there are names are expected, all of them on the grid
        """
        if len(values) != len(self.names):
            raise PlantloopError(
                f"{len(values)} values for a table over {', '.join(self.names)}.", value=values
            )
        place = []
        for name, axis, value in zip(self.names, self.axes, values, strict=True):
            k = int(np.argmin(np.abs(axis - value)))
            if not abs(axis[k] - value) <= NEAR * max(1.0, abs(float(value))):
                raise PlantloopError(
                    f"{name} = {value:g} is not on the grid {axis.tolist()}.", path=name, value=value
                )
            place.append(k)
        found: OperatingPoint = self.points[tuple(place)]
        return found

    def values(self, name: str) -> np.ndarray:
        """A state, input or output over the grid: (n_1, n_2, ...), with its components behind if several.

        Ready for a lookup table: ``LookupTable1D(table.axes[0], table.values("throttle"))``.

        Raises
        ------
        PlantloopError      no such state, input or output
        """
        first: OperatingPoint = self.points.flat[0]
        kinds = (first.states, first.inputs, first.outputs)
        which = next((k for k, kind in enumerate(kinds) if name in kind), None)
        if which is None:
            known = [n for kind in kinds for n in kind]
            raise PlantloopError(f"the points have no '{name}'; {near_miss(name, known)}", path=name)
        rows = [(p.states, p.inputs, p.outputs)[which][name] for p in self.points.flat]
        found = np.array(rows).reshape(*self.points.shape, -1)
        return found[..., 0] if found.shape[-1] == 1 else found

    def __repr__(self) -> str:
        """What varies, then the states and inputs that were found, a line per point."""
        rows = [self._numbers(place) for place in itertools.islice(np.ndindex(self.points.shape), SHOWN)]
        heads = list(dict.fromkeys(name for row in rows for name in row))
        texts = [heads, *([f"{row[name]:.5g}" for name in heads] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = ["  ".join(t.rjust(w) for t, w in zip(line, widths, strict=True)) for line in texts]
        more = [f"... and {self.points.size - SHOWN} more"] if self.points.size > SHOWN else []
        title = f"<OperatingTable over {', '.join(self.names)}: {self.points.size} points>"
        return "\n".join([title, *lines, *more])

    def _numbers(self, place: tuple[int, ...]) -> dict[str, float]:
        """Numbers of one point by name: what varies, states and inputs."""
        varied = {n: axis[k] for n, axis, k in zip(self.names, self.axes, place, strict=True)}
        found: dict[str, float] = dict(varied)
        point: OperatingPoint = self.points[place]
        for name, value in {**point.states, **point.inputs}.items():
            parts = [name] if np.size(value) == 1 else [f"{name}[{k}]" for k in range(np.size(value))]
            found |= dict(zip(parts, np.ravel(value), strict=True))
        return found | varied


def trim_table(
    system: Block | Diagram,
    over: Mapping[str, Sequence[float] | np.ndarray],
    x: Mapping[str, Any] | None = None,
    u: Mapping[str, Any] | None = None,
    y: Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
    fixed: Sequence[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
) -> OperatingTable:
    """Equilibria over a grid of inputs, outputs, states or parameters.

    Parameters
    ----------
    over : name -> (n,) values     of an input (kept there), an output (reached there), a state (kept there)
                                   or a parameter, one number each; looked for in this order
    x, u, y, free, fixed, bounds, parameters, tolerance : as in `trim`, for every point

    Each point starts from the previous one along the last name, and the first point of a row from the first
    of the previous row, so that all points lie on one branch if there are several.

    Raises
    ------
    PlantloopError     as `trim`, with the place in the grid

    >>> table = trim_table(car, {"v": [10.0, 20.0, 30.0]}, free=["throttle"])
    >>> law = gain_schedule(car, table.axes[0], table.at, design, ["throttle"], ["speed"])
    """
    grid = {name: _axis(name, values) for name, values in mapped(over, "over").items()}
    if not grid:
        raise PlantloopError("over names nothing to vary.", hint='Write over={"v": [10.0, 20.0]}.')
    built = structural(diagram_of(system), grid)
    kinds = {n: "parameters" if n in built else _kind(model_of(system).system, n) for n in grid}
    given = {what: mapped(v, what) for what, v in (("x", x), ("u", u), ("y", y), ("parameters", parameters))}
    kept = listed(fixed, "fixed") + [name for name, kind in kinds.items() if kind == "x"]
    shape = tuple(len(axis) for axis in grid.values())
    points = np.empty(shape, dtype=object)

    def found(place: tuple[int, ...], guess: OperatingPoint | None) -> OperatingPoint:
        here = {name: axis[k] for (name, axis), k in zip(grid.items(), place, strict=True)}
        asked = {what: dict(values) for what, values in given.items()}
        if guess is not None:
            known = {**guess.states, **guess.sampled}
            asked["x"] |= {n: v for n, v in known.items() if n not in kept}
            asked["u"] |= {n: guess.inputs[n] for n in listed(free, "free") if n in guess.inputs}
        for name, value in here.items():
            asked[kinds[name]][name] = value
        return trim(system, **asked, free=free, fixed=kept, bounds=bounds, tolerance=tolerance)

    for place in itertools.product(*map(range, shape)):
        axis = max((k for k, i in enumerate(place) if i), default=None)
        before = None
        if axis is not None:
            before = points[(*place[:axis], place[axis] - 1, *place[axis + 1 :])]
        points[place] = _with_place(grid, place, found, before)
    return OperatingTable(tuple(grid), tuple(grid.values()), points)


def _with_place(
    grid: Mapping[str, np.ndarray], place: tuple[int, ...], found: Any, before: OperatingPoint | None
) -> OperatingPoint:
    """The point from its neighbour, or else from the guess that was given; errors say where."""
    try:
        point: OperatingPoint = found(place, before)
    except PlantloopError as first:
        if before is not None:
            try:
                again: OperatingPoint = found(place, None)
            except PlantloopError:
                pass
            else:
                return again
        at = ", ".join(f"{n} = {axis[k]:g}" for (n, axis), k in zip(grid.items(), place, strict=True))
        raise PlantloopError(f"at {at}: {first}", path=first.path, value=first.value) from first
    return point


def _kind(system: System, name: str) -> str:
    """Which argument of `trim` a name belongs to."""
    for kind, what in (("input", "u"), ("output", "y"), ("state", "x"), ("parameter", "parameters")):
        if system.names(kind).find(name) is not None:
            return what
    known = [*system.inputs, *system.outports, *system.states, *system.parameters]
    raise PlantloopError(
        f"'{system.name}' has no input, output, state or parameter '{name}'; "
        f"{near_miss(name, [n.removeprefix(system.prefix) for n in known])}",
        path=name,
        value=name,
    )


def _axis(name: str, values: Any) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros((0, 0))
    if found.ndim != 1 or not found.size or not np.isfinite(found).all():
        raise PlantloopError(
            f"over['{name}'] is {values!r}, expected some finite numbers.", path=name, value=values
        )
    found.setflags(write=False)
    return found
