"""Linear models of plants for the blocks that are designed from them: ``LQR.of(plant, ...)`` and the like."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np

from blocks.arguments import real_numbers
from blocks.contract import checks
from blocks.contract.rate import rational
from blocks.contract.recipes import of_expressions
from blocks.contract.services import services
from blocks.errors import BlockError, near_miss, shown

WORST = 1e9  # condition number of outputs in states above which they do not tell the states
Around = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]


class DesignedForPlants(abc.ABC):
    """Base of blocks that are designed from a linear model."""

    @classmethod
    @of_expressions
    def of(
        cls,
        plant: Any,
        *design: Any,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        at: Any = None,
        parameters: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """For a plant at rest, in terms of its ports: alike whatever coordinates it has.

        Of a sampled diagram the model is that from tick to tick, exactly (`linearize`): the block sees y at a
        tick and holds u up to the next; its sample time is the diagram's common period, or a multiple of it.

        Parameters
        ----------
        plant : Block, Diagram or the handle `Diagram.add` gave
        design : the fields behind `system`, as the class says
        inputs : names of the inputs that "u" is made of, side by side; default all
        outputs : names of the outputs the block sees, side by side; default all
        at : its rest, as ``trim(plant, ...)`` finds it; default the initial state, inputs zero
        parameters : of the plant, by name;  more : other fields of the block

        Raises
        ------
        PlantloopError    a name, no rest there, or a plant that this cannot be designed for
        """
        named = [f.name for f in fields(cls)][1:]  # type: ignore[arg-type]  # a dataclass
        given = {**dict(zip(named, design, strict=False)), **more}
        point = services().design_point(plant, inputs, outputs, at, parameters, given.get("sample"))
        return cls._designed(point, *design, **more | _ticks(cls, point, given))

    @classmethod
    @abc.abstractmethod
    def _designed(cls, point: Any, *design: Any, **more: Any) -> Self:
        """The block for a `DesignPoint`."""


def _ticks(kind: type, point: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Sample time and offset for the model of a sampled diagram, where they are not given.

    Raises
    ------
    BlockError    an offset at which no period of the model begins
    """
    if not point.dt:
        return {}
    ticks = {"sample": point.dt, "offset": point.offset}
    offset = given.get("offset")
    if offset is not None and (rational(offset, "offset") - point.offset) % point.period:
        raise BlockError(
            f"{kind.__name__}.of: offset is {shown(offset)}, expected {float(point.offset):g} s, where a "
            f"period of {float(point.period):g} s begins of which the model is.",
            value=offset,
        )
    return {name: value for name, value in ticks.items() if given.get(name) is None}


def as_seen(point: Any, kind: type) -> tuple[Any, Around]:
    """The model whose states are the outputs themselves, and where it holds: independent of coordinates.

    Returns
    -------
    (A, B, C = 1, D = 0, dt), (x0, u0, y0)

    Raises
    ------
    BlockError    the outputs are not as many as the states, do not tell them apart, or feed through
    """
    A, B, C, D = point.matrices
    if np.any(D):
        j, k = np.argwhere(D)[0]
        raise BlockError(
            f"{kind.__name__}.of: input {k} acts at once on output '{point.outputs[j]}', which is no state.",
            hint="Name positions and velocities in outputs=.",
        )
    scale = np.abs(C).max(axis=1, initial=0.0)
    square = len(C) == len(A) and scale.all()
    if not square or np.linalg.cond(C / scale[:, None]) > WORST:
        raise BlockError(
            f"{kind.__name__}.of: the outputs {', '.join(point.outputs) or '(none)'} do not tell the "
            f"{len(A)} states {', '.join(point.states)} apart: as many outputs as states are expected.",
            hint="Name them in outputs=, or estimate the rest: LQG.of(plant, ...).",
        )
    inverse = np.linalg.inv(C)
    eye = np.eye(len(A))
    model = (C @ A @ inverse, C @ B, eye, np.zeros((len(A), B.shape[1])), point.dt)
    return model, around(point.y0, point.u0, point.y0)


def followed(point: Any, follow: Any, kind: type) -> tuple[Any, Around]:
    """As `as_seen`, with those outputs alone that follow a reference; all where none are named."""
    (model, at), names, what = as_seen(point, kind), point.outputs, f"{kind.__name__}.of"
    if follow is None:
        return model, at
    wanted = [follow] if isinstance(follow, str) else follow
    if not isinstance(wanted, (list, tuple)) or not wanted:
        raise BlockError(f"{what}: follow is {shown(follow)}, expected names of outputs.", value=follow)
    rows: list[int] = []
    for name in wanted:
        found = [k for k, n in enumerate(names) if n == name or n.startswith(f"{name}[")]
        if not found:
            raise BlockError(f"{what}: follow: no '{name}'; {near_miss(str(name), names)}", value=name)
        rows += found
    A, B, C, D, dt = model
    return (A, B, C[rows], D[rows], dt), around(at[0], at[1], np.array(at[2])[rows])


def around(x0: Any, u0: Any, y0: Any) -> Around:
    """An operating point as the field `around` keeps it."""
    x, u, y = (tuple(np.ravel(v).tolist()) for v in (x0, u0, y0))
    return x, u, y


def spread(value: Any, n: int, name: str, kind: type, what: str) -> np.ndarray:
    """A weight of n `what` ("outputs") as a symmetric (n, n) matrix: a number or a vector is its diagonal.

    Raises
    ------
    BlockError    anything else
    """
    try:
        found = real_numbers(value)
        found = np.diag(np.broadcast_to(found, (n,))) if found.ndim < 2 else found
    except (OverflowError, TypeError, ValueError):
        found = np.zeros((0, 0))
    if found.shape != (n, n) or not np.isfinite(found).all() or not np.allclose(found, found.T):
        raise BlockError(
            f"{kind.__name__}.of: {name} is {shown(value)}, expected a number, {n} numbers or a symmetric "
            f"({n}, {n}) matrix, for the {n} {what} of the plant that are looked at.",
            value=value,
        )
    return found


def check_around(block: Any) -> None:
    """Keep the field `around`: three numbers or vectors of as many components as x, u and y have, or None."""
    given = block.around
    if given is None:
        return
    sizes = len(block.system[0]), np.shape(block.system[1])[1], len(block.system[2])
    try:
        parts = [real_numbers(part) for part in given]
        fits = len(parts) == 3 and all(np.isfinite(p).all() for p in parts)
        kept = [np.broadcast_to(p, (n,)) for p, n in zip(parts, sizes, strict=True)] if fits else None
    except (OverflowError, TypeError, ValueError):
        kept = None
    if kept is None:
        raise checks.fault(
            block, "around", f"is {shown(given)}", f"(x, u, y): {sizes[0]}, {sizes[1]} and {sizes[2]} numbers"
        )
    checks.assign(block, around=around(*kept))


def place(block: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x0, u0, y0 of a block with the field `around`: zero where it is None."""
    sizes = len(block.system[0]), np.shape(block.system[1])[1], len(block.system[2])
    x, u, y = (np.zeros(n) for n in sizes) if block.around is None else map(np.array, block.around)
    return x, u, y
