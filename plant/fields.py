"""Which fields of a plant that is made may be changed, and what its model is called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from blocks.errors import ModelError
from plant.constraints.stabilisation import stabilisation_of
from plant.tunables import check_tunable, mention_unread


def with_fields(plant: Any, **values: Any) -> Any:
    """The plant with other `stabilisation` or `tunable`, as `Plant.read` takes them.

    Raises
    ------
    ModelError    a value that is not possible, or a field that decides how the plant is made
    """
    if others := sorted(set(values) - {"stabilisation", "tunable"}):
        raise ModelError(
            f"Plant.with_fields takes stabilisation and tunable, got {', '.join(others)}: the equations "
            "of a plant are made for the others.",
            hint="Make the plant anew: Plant.from_model(plant.model, coordinates=...), or Plant.read(file).",
        )
    if "stabilisation" in values:
        values["stabilisation"] = stabilisation_of(values["stabilisation"])
    if "tunable" in values:
        check_tunable(plant.model, values["tunable"])
        values["tunable"] = tuple(values["tunable"])
    changed = replace(plant, **values)
    if "tunable" in values:
        mention_unread(changed.model, changed.tunable, changed.numbers_read)
    return changed


def model_name(plant: Any) -> str:
    """See `Block.called`: the name of the model."""
    return str(plant.model.name)
