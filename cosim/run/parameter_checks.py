"""Values of parameters that their block would refuse where it is made, refused for a run too."""

from __future__ import annotations

from collections.abc import Iterable

from blocks.errors import naming_block
from cosim.run.context import Context
from cosim.system import System


def check_parameters(system: System, context: Context, names: Iterable[str]) -> None:
    """Ask the blocks of these parameters whether all their numbers together may be what they are now.

    Raises
    ------
    PlantloopError    as where the block is made, with its path
    """
    owners = system.derived.get(
        "owners of parameters",
        lambda: {f"{path}.{own}": path for path, (_, fields) in system.parts.items() for own in fields},
    )
    every = system.names("parameter")
    changed = [found[0] for name in names if (found := every.find(name)) is not None]
    for path in dict.fromkeys(owners[name] for name in changed if name in owners):
        block, fields = system.parts[path]
        values = {}
        for own, field in fields.items():
            if (slot := system.parameters.get(f"{path}.{own}")) is not None:
                array = slot.mask.astype(float)
                array[slot.mask] = context.p[slot.index]
                values[field or own] = array if slot.shape else float(array)
        with naming_block(path):
            block.check_parameters(values)
