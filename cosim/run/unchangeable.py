"""Why a parameter cannot be changed by a run, and what to do instead."""

from __future__ import annotations

from blocks.errors import BlockError
from cosim.system import System


def structural_error(system: System, name: str, anew: str = "") -> BlockError:
    """A parameter that cannot be changed at run time, and what to do instead.

    anew : how it is given where a diagram is built anew for it, if not as for a single run
    """
    if found := system.refused.get(name):
        again = anew or "Use with_parameters, or add(parameters=), before it runs."
        return BlockError(
            f"'{name}' in '{system.name}' cannot be set: {found.why}.",
            path=name,
            hint=found.cure or ("Set that one." if found.follows else again),
        )
    if initial := system.fields.get(name, ""):
        return BlockError(
            f"'{name}' in '{system.name}' is an initial value, not a parameter.",
            path=name,
            hint=f"Write initial={{'{initial}': ...}}.",
        )
    if name in system.fields and name not in system.parameters:
        return BlockError(
            f"'{name}' in '{system.name}' is structural: a field of the block that no run can change.",
            path=name,
            hint=anew or f"Give it where a run begins, parameters={{'{name}': ...}}: it is built anew.",
        )
    return BlockError(
        f"'{name}' in '{system.name}' is structural (a zero of a matrix, or not a tunable number).",
        path=name,
        hint="Build the block anew with the other value and add it to a diagram.",
    )
