"""What models ask of packages above them: a page in the browser, a linear model to design a controller for.

Blocks and plants know nothing of diagrams, runs and pages. The package that does (`cosim`) registers its
`Services` once, when it is imported; where none is imported yet, those installed are, by their entry point in
the group `GROUP` (`pyproject.toml`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from blocks.errors import PlantloopError

GROUP = "plantloop.services"


class Services(Protocol):
    """What a package above offers."""

    def show_model(self, model: Any, out: Any, show: bool, live: bool, options: Mapping[str, Any]) -> Any:
        """The page of a diagram or a block; arguments as of `cosim.Diagram.view`."""
        ...

    def design_point(
        self, plant: Any, inputs: Any, outputs: Any, at: Any, parameters: Any, sample: Any
    ) -> Any:
        """A `cosim.analysis.design_point.DesignPoint`; arguments as of `cosim.linearize`, and s."""
        ...


_REGISTERED: list[Services] = []  # at most one; filled while packages are imported, never later


def register(services: Services) -> None:
    """Say who serves models; the last one said stands."""
    _REGISTERED[:] = [services]


def services() -> Services:
    """What is offered.

    Raises
    ------
    PlantloopError      nobody serves models: neither imported nor installed
    """
    if not _REGISTERED:
        from importlib import metadata  # hardly ever needed, and slow

        for found in metadata.entry_points(group=GROUP):
            found.load()  # registers itself
    if not _REGISTERED:
        raise PlantloopError(
            "nothing that shows, runs and linearises models is imported.", hint="Write `import cosim` before."
        )
    return _REGISTERED[0]
