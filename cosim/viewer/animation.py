"""The motion of a plant in a run as an animated picture, without a browser."""

from __future__ import annotations

from typing import Any

from blocks.errors import PlantloopError, near_miss
from cosim.viewer.page_data import blocks_of, netlist_of


def animate(result: Any, file: Any, fps: float, slower: float, plant: str | None) -> int:
    """Write the motion of a plant of a result; see `cosim.Result.animate`."""
    from plant.block import Plant
    from plant.pictures import animate as write

    if result.origin is None:
        raise PlantloopError(
            f"result '{result.name}' does not know what was run: it comes from a file or another process, or "
            "from a deck that changed its model on the way.",
            hint="Use plant.pictures.animate(result, plant, file), or run it here.",
        )
    blocks = blocks_of(netlist_of(result.origin[0]))
    plants = {path: block for path, block in blocks if isinstance(block, Plant)}
    if not plants:
        raise PlantloopError(f"'{result.name}' has no plant to animate.", value=plant)
    if plant is not None and (not isinstance(plant, str) or plant not in plants):
        raise PlantloopError(
            f"'{result.name}' has no plant '{plant}'; {near_miss(str(plant), plants)}", value=plant
        )
    if plant is None and len(plants) > 1:
        several, first = ", ".join(plants), next(iter(plants))
        raise PlantloopError(
            f"'{result.name}' has several plants: {several}.", hint=f"Write plant='{first}'."
        )
    path = plant if plant is not None else next(iter(plants))
    return write(result, plants[path], file, fps, slower, path)
