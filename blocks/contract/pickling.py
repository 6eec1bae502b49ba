"""Copies and pickles of blocks that hold functions."""

from __future__ import annotations

import copy
import pickle
import sys
import types
from typing import Any

from blocks.errors import BlockError


def _by_cloudpickle() -> bool:
    """Is it cloudpickle that asks, which takes any function?"""
    frame = sys._getframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == "cloudpickle":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


class HoldsFunctions:
    """Base of blocks with functions in their fields: one that cannot be pickled is named with the cure."""

    def __getstate__(self) -> dict[str, Any]:
        """The fields, for a pickle.

        Raises
        ------
        BlockError    a field holds a lambda, or a function inside another one
        """
        for name, value in vars(self).items():
            if isinstance(value, types.FunctionType) and not _by_cloudpickle():
                try:
                    pickle.dumps(value)
                except Exception as error:  # PicklingError, AttributeError: it differs between versions
                    code = value.__code__
                    raise BlockError(
                        f"{type(self).__name__}: {name} is {value.__name__} ({code.co_filename}:"
                        f"{code.co_firstlineno}), which cannot be pickled: it is not found in its module by "
                        "its name.",
                        value=value,
                        hint="Write it with def at the top of a module, or use the package cloudpickle "
                        "(cloudpickle.dumps).",
                    ) from error
        return dict(vars(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy with copies of its fields; functions are the same."""
        made = object.__new__(type(self))
        memo[id(self)] = made
        for name, value in vars(self).items():
            object.__setattr__(made, name, copy.deepcopy(value, memo))
        return made

    def __copy__(self) -> Any:
        made = object.__new__(type(self))
        for name, value in vars(self).items():
            object.__setattr__(made, name, value)
        return made
