"""Names of a package that are imported on first use, so that importing the package stays fast (PEP 562)."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from blocks.errors import PlantloopError, near_miss

_LIST = re.compile(r"^__all__ = (\[[^\]]*\])", re.MULTILINE)


class NameElsewhere(PlantloopError, ImportError):
    """What was imported is not there: it has another name here, or lies in another package."""


class Exports:
    """What `__getattr__` and `__dir__` of a package are.

    Parameters
    ----------
    package : str       its name
    homes : dict        name to the module that holds it; a module of the package is its own home
    more : callable     further homes, in one place; called once a name is wanted that `homes` has not
    elsewhere : callable    of a name that is not there: what to write, where it is known from another tool
    """

    def __init__(
        self,
        package: str,
        homes: Mapping[str, str],
        more: Callable[[], Mapping[str, str]] = dict,
        elsewhere: Callable[[str], str | None] = lambda name: None,
    ) -> None:
        self._package, self._homes, self._more, self._elsewhere = package, homes, more, elsewhere

    def get(self, name: str) -> Any:
        """A name of the package; what was found once is an attribute from then on.

        Raises
        ------
        AttributeError      no such name
        NameElsewhere       for ``from package import name``, which shows nothing of an AttributeError
        """
        own = vars(sys.modules[self._package])
        homes = self._homes if name in self._homes or name.startswith("_") else self._more()
        if name == "__all__":
            found: Any = sorted(self.names())
        elif name in homes:
            module = importlib.import_module(homes[name])
            found = module if module.__name__ == f"{self._package}.{name}" else getattr(module, name)
        elif name in own:  # looking for it brought it along
            found = own[name]
        else:
            raise self._missing(name, sys._getframe(1).f_code.co_name == "_handle_fromlist")
        own[name] = found
        return found

    def _missing(self, name: str, imported: bool) -> Exception:
        if name[:1] == "_":
            return AttributeError(f"module '{self._package}' has no attribute '{name}'")
        said = self._elsewhere(name)
        near = near_miss(name, self.names()) if said is None else said
        near = f"{'. ' if said else '; '}{near}"
        if imported and name[:1].isupper():  # not a module that is still to be found
            return NameElsewhere(f"there is no '{name}' in {self._package}{near}")
        return AttributeError(f"module '{self._package}' has no attribute '{name}'{near}")

    def names(self) -> Collection[str]:
        """Every name that is exported."""
        return {*self._homes, *self._more()}

    def dir(self) -> list[str]:
        """What `dir` shows of the package."""
        return sorted({*vars(sys.modules[self._package]), *self.names()})


def listed_names(package: str) -> dict[str, str]:
    """Every name that a module of a package lists in its `__all__`, with the module.

    The lists are read from the sources, as they stand there: that takes milliseconds, importing what they
    list tenths of seconds. Modules without a list export nothing.
    """
    homes: dict[str, str] = {}
    for file in Path(sys.modules[package].__path__[0]).glob("*.py"):
        if written := _LIST.search(file.read_text(encoding="utf-8")):
            homes |= dict.fromkeys(ast.literal_eval(written[1]), f"{package}.{file.stem}")
    return homes
