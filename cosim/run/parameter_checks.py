"""Values of parameters that their block would refuse where it is made, refused for runs too."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blocks.contract.block import Block
from blocks.errors import PlantloopError, naming_block, shown
from cosim.slots import ParameterSlot
from cosim.system import System

MOST_CORNERS = 1024  # of a box of numbers; of more every run is looked at
Ends = Mapping[int, Sequence[float]]  # place of a parameter -> the least and largest that runs give it


def check_parameters(system: System, p: np.ndarray, names: Iterable[str]) -> None:
    """Ask the blocks of these parameters whether all their numbers together may be what they are in p.

    Raises
    ------
    PlantloopError    as where the block is made, with its path
    """
    for part in asked_about(system, names):
        part.check(p)


def check_runs(system: System, p: np.ndarray, names: Iterable[str], numbers: Sequence[int]) -> None:
    """The same of many runs; p : (runs, np); numbers : what each is called in messages."""
    for row, error in sorted(RunChecks.of(system, names).refused(p).items()):
        raise PlantloopError(f"run {numbers[row]}: {error}", path=error.path, value=error.value) from error


@dataclass(frozen=True)
class RunChecks:
    """The blocks of some parameters, asked about many runs at once.

    Where a block takes all corners of a box of numbers, it is not asked about what lies inside, as its limits
    (a mass above 0, low below high) are those of convex sets; numbers that are 0 are looked at beside.
    """

    parts: tuple[AskedBlock, ...]

    @staticmethod
    def of(system: System, names: Iterable[str]) -> RunChecks:
        """Those of the blocks that have these parameters."""
        return RunChecks(tuple(asked_about(system, names)))

    def beyond(self, p: np.ndarray, ends: Ends) -> RunChecks:
        """Those alone that could refuse a run whose numbers are those of p, (np,), or lie between `ends`."""
        return RunChecks(tuple(part for part in self.parts if not part.takes(p, ends)))

    def refused(self, p: np.ndarray) -> dict[int, PlantloopError]:
        """Rows of p, (runs, np), that a block refuses, each with the first error."""
        found: dict[int, PlantloopError] = {}
        for part in self.parts:
            for row in part.suspects(p):
                error = part.error(p[row])
                if error is not None:
                    found.setdefault(int(row), error)
        return found


@dataclass(frozen=True)
class AskedBlock:
    """A block of a system with its parameters, under the names of the fields they are the values of."""

    path: str
    block: Block
    slots: Mapping[str, ParameterSlot]

    def check(self, p: np.ndarray, names: Collection[str] = ()) -> None:
        """Ask the block about the numbers in p; about some parameters alone, or all."""
        values = {}
        for name in names or self.slots:
            slot = self.slots[name]
            array = slot.mask.astype(float)
            array[slot.mask] = p[slot.index]
            values[name] = array if slot.shape else float(array)
        with naming_block(self.path):
            self.block.check_parameters(values)

    def error(self, p: np.ndarray, names: Collection[str] = ()) -> PlantloopError | None:
        """What the block refuses of the numbers in p, if anything; see `check`."""
        try:
            self.check(p, names)
        except PlantloopError as error:
            return error
        return None

    def suspects(self, p: np.ndarray) -> Iterable[int]:
        """Rows of p, (runs, np), that have to be looked at."""
        if not len(p):
            return ()
        places = np.concatenate([slot.index for slot in self.slots.values()])
        found = {place: ends_of(p[:, place]) for place in map(int, places)}
        corners = math.prod(map(len, found.values()))
        return () if corners < len(p) and self.takes(p[0], found) else range(len(p))

    def takes(self, p: np.ndarray, ends: Ends) -> bool:
        """Does the block take all numbers between these ends? No where there are many corners to try.

        p : (np,) the other numbers
        """
        own = {int(k) for slot in self.slots.values() for k in slot.index if k in ends}
        if math.prod(len(ends[k]) for k in own) > MOST_CORNERS:
            return False
        corner = p.copy()
        for values in itertools.product(*(ends[k] for k in own)):
            corner[list(own)] = values
            if self.error(corner) is not None:
                return False
        return True


def ends_of(column: np.ndarray) -> tuple[float, ...]:
    """The least and largest of some numbers, and 0 where it is one of them."""
    found = [float(column.min()), float(column.max()), *([0.0] if (column == 0).any() else [])]
    return tuple(dict.fromkeys(found))


def owner_of(system: System, name: str) -> str | None:
    """The path of the block that a parameter of a run belongs to; None for one of a diagram."""
    owners: dict[str, str] = system.derived.get(
        "owners of parameters",
        lambda: {f"{path}.{own}": path for path, (_, fields) in system.parts.items() for own in fields},
    )
    return owners.get(name)


def refuse_booleans(system: System, name: str, value: object) -> None:
    """Refuse True and False, alone or in a list, for a parameter whose block takes numbers only.

    Raises
    ------
    PlantloopError    it is given one of them
    """
    if isinstance(value, np.ndarray) and value.dtype.kind not in "bO":
        return
    entries = np.asarray(value, dtype=object).ravel()
    path = owner_of(system, name) if any(isinstance(v, (bool, np.bool_)) for v in entries) else None
    if path is not None and name[len(path) + 1 :] in system.parts[path][0].numbers_only:
        raise PlantloopError(
            f"parameter '{name}' takes numbers; got {shown(value)}.", path=name, value=value
        )  # fmt: skip


def asked_about(system: System, names: Iterable[str]) -> Iterator[AskedBlock]:
    """The blocks of these parameters, each once."""
    names = list(names)
    if not names:
        return
    every = system.names("parameter")
    changed = [found[0] for name in names if (found := every.find(name)) is not None]
    owners = dict.fromkeys(owner_of(system, name) for name in changed)
    for path in [path for path in owners if path is not None]:
        block, fields = system.parts[path]
        taken = {field.name for field in dataclasses.fields(block)}
        slots = {
            field or own: system.parameters.get(f"{path}.{own}")
            for own, field in fields.items()
            if field or own not in taken  # a parameter that only has the name of a field is not its value
        }
        yield AskedBlock(path, block, {name: slot for name, slot in slots.items() if slot is not None})
