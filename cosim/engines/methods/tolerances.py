"""How exact each state is to be: the absolute tolerance of a run times the nominal sizes of the states.

Sizes may follow parameters: those of filters in canonical form do. A run takes them anew where its parameters
were set, so that they depend on the present parameters alone, not on how a run came to them.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from cosim.system import System
from cosim.system_parts import FollowingSize


def nominal_sizes(system: System, p: np.ndarray) -> np.ndarray:
    """Nominal sizes of the states for some parameters, (nx,); one that is no number above 0 counts as 1.

    p : (np,)
    """
    found = np.ones(len(system.x0))
    for slot in system.states.values():
        if isinstance(slot.memory.nominal, float | tuple):
            found[slot.index] = slot.memory.nominal
    for size, values in zip(system.sizes, _found_from(system, p), strict=True):
        following = _size(system, size, values)
        good = np.isfinite(following) & (following > 0)
        found[system.states[size.state].index] = np.where(good, following, 1.0)
    return found


def _found_from(system: System, p: np.ndarray) -> list[np.ndarray]:
    """What each size that follows is found from."""
    if not system.sizes:
        return []
    function = system.derived.get(
        "sizes", lambda: ca.Function("sizes", [system.p], [ca.densify(size.values) for size in system.sizes])
    )
    return [np.array(value).ravel() for value in function.call([p])]


def _size(system: System, size: FollowingSize, values: np.ndarray) -> np.ndarray:
    """One size; the newest one of each is kept, because to find it may take as long as a short run."""
    if size.sizes is None:
        return values
    newest: dict[str, tuple[bytes, np.ndarray]] = system.derived.get("newest sizes", dict)
    key, known = values.tobytes(), newest.get(size.state)
    if known is None or known[0] != key:
        newest[size.state] = known = key, size.sizes(values)
    return known[1]


def sized_by(system: System) -> np.ndarray:
    """Places in p of the parameters that sizes follow."""
    return system.derived.get("sized by", lambda: _sized_by(system))


def _sized_by(system: System) -> np.ndarray:
    if not system.sizes:
        return np.zeros(0, dtype=int)
    values = ca.vertcat(*[size.values for size in system.sizes])
    return np.flatnonzero(ca.which_depends(ca.densify(values), system.p, 1, False))


class RunSizes:
    """Nominal sizes of the states of a run, which follow its parameters.

    values : (nx,), always the same array
    """

    def __init__(self, system: System, p: np.ndarray) -> None:
        self._system, self._p = system, p[sized_by(system)]
        self.values = nominal_sizes(system, p)

    def follow(self, p: np.ndarray) -> bool:
        """Take the sizes for these parameters, (np,); returns whether they were found anew."""
        now = p[sized_by(self._system)]
        if np.array_equal(now, self._p):
            return False
        self._p = now
        self.values[:] = nominal_sizes(self._system, p)
        return True
