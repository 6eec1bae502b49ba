"""Who shows models in a browser: a package above says so once, when it is imported.

A diagram and a plant have a method `view`, and know nothing of pages. What opens one is registered here by
the package that can (`cosim`); where none is imported yet, those installed are, by their entry point in the
group `GROUP` (`pyproject.toml`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from blocks.errors import PlantloopError

GROUP = "plantloop.views"


class Shows(Protocol):
    """Opens the page of a model: a file, or, with `live`, a run that is steered from it."""

    def __call__(self, model: Any, out: Any, show: bool, live: bool, options: Mapping[str, Any]) -> Any: ...


_REGISTERED: list[Shows] = []  # at most one; filled while packages are imported, never later


def register(shows: Shows) -> None:
    """Say who shows models; the last one said stands."""
    _REGISTERED[:] = [shows]


def show_model(model: Any, out: Any, show: bool, live: bool, options: Mapping[str, Any]) -> Any:
    """The page of a model; arguments as of `cosim.Diagram.view`.

    Raises
    ------
    PlantloopError      nobody shows models: neither imported nor installed; or as whoever shows it
    """
    if not _REGISTERED:
        from importlib import metadata  # hardly ever needed, and slow

        for found in metadata.entry_points(group=GROUP):
            found.load()  # registers itself
    if not _REGISTERED:
        raise PlantloopError("nothing that shows models is imported.", hint="Write `import cosim` before.")
    return _REGISTERED[0](model, out, show, live, options)
