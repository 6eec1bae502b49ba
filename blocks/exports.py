"""Names of a package that are imported on first use, so that importing the package stays fast (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any


class Exports:
    """What `__getattr__` and `__dir__` of a package are.

    Parameters
    ----------
    package : str       its name
    homes : dict        name to the module that holds it; a module of the package is its own home
    more : callable     further names and what they are, in one place; called once one of them is wanted
    """

    def __init__(
        self, package: str, homes: Mapping[str, str], more: Callable[[], Mapping[str, Any]] = dict
    ) -> None:
        self._package, self._homes, self._more = package, homes, more

    def get(self, name: str) -> Any:
        """A name of the package; what was found once is an attribute from then on.

        Raises
        ------
        AttributeError      no such name
        """
        own = vars(sys.modules[self._package])
        if name in self._homes:
            module = importlib.import_module(self._homes[name])
            found = module if module.__name__ == f"{self._package}.{name}" else getattr(module, name)
        elif name == "__all__":
            found = sorted(self.names())
        else:
            more = {} if name.startswith("_") else self._more()
            if name not in more and name not in own:  # what was asked for may have come along
                raise AttributeError(f"module '{self._package}' has no attribute '{name}'")
            found = more.get(name, own.get(name))
        own[name] = found
        return found

    def names(self) -> Collection[str]:
        """Every name that is exported."""
        return {*self._homes, *self._more()}

    def dir(self) -> list[str]:
        """What `dir` shows of the package."""
        return sorted({*vars(sys.modules[self._package]), *self.names()})
