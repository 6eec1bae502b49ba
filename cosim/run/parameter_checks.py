"""Values of parameters that their block would refuse where it is made, refused for runs too."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blocks.contract.block import Block
from blocks.errors import PlantloopError, naming_block
from cosim.slots import ParameterSlot
from cosim.system import System


def check_parameters(system: System, p: np.ndarray, names: Iterable[str]) -> None:
    """Ask the blocks of these parameters whether all their numbers together may be what they are in p.

    Raises
    ------
    PlantloopError    as where the block is made, with its path
    """
    for part in _parts(system, names):
        part.check(p)


def check_runs(system: System, p: np.ndarray, names: Iterable[str], numbers: Sequence[int]) -> None:
    """The same of many runs; p : (runs, np); numbers : what each is called in messages.

    Of a block of which one number alone varies its least and largest, and 0, stand for the others.
    """
    for part in _parts(system, names):
        for row in part.rows(p):
            try:
                part.check(p[row])
            except PlantloopError as error:
                text = f"run {numbers[row]}: {error}"
                raise PlantloopError(text, path=error.path, value=error.value) from error


@dataclass(frozen=True)
class _Part:
    """A block of a system with its parameters, under the names of the fields they are the values of."""

    path: str
    block: Block
    slots: Mapping[str, ParameterSlot]

    def check(self, p: np.ndarray) -> None:
        """Ask the block about the numbers in p."""
        values = {}
        for name, slot in self.slots.items():
            array = slot.mask.astype(float)
            array[slot.mask] = p[slot.index]
            values[name] = array if slot.shape else float(array)
        with naming_block(self.path):
            self.block.check_parameters(values)

    def rows(self, p: np.ndarray) -> Iterable[int]:
        """Runs that have to be looked at."""
        own = p[:, np.concatenate([slot.index for slot in self.slots.values()])]
        varying = np.flatnonzero(np.any(own != own[:1], axis=0))
        if len(varying) > 1:
            return range(len(p))
        column = own[:, varying[0]] if len(varying) else np.zeros(len(p))
        return dict.fromkeys(map(int, (column.argmin(), column.argmax(), np.abs(column).argmin())))


def _parts(system: System, names: Iterable[str]) -> Iterator[_Part]:
    """The blocks of these parameters, each once."""
    owners = system.derived.get(
        "owners of parameters",
        lambda: {f"{path}.{own}": path for path, (_, fields) in system.parts.items() for own in fields},
    )
    every = system.names("parameter")
    changed = [found[0] for name in names if (found := every.find(name)) is not None]
    for path in dict.fromkeys(owners[name] for name in changed if name in owners):
        block, fields = system.parts[path]
        taken = {field.name for field in dataclasses.fields(block)}
        slots = {
            field or own: system.parameters.get(f"{path}.{own}")
            for own, field in fields.items()
            if field or own not in taken  # a parameter that only has the name of a field is not its value
        }
        yield _Part(path, block, {name: slot for name, slot in slots.items() if slot is not None})
