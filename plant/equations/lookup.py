"""Elements that expressions name by id, with a `Refusal` where they are not there."""

from __future__ import annotations

from typing import TypeVar

from blocks.errors import ModelError
from plant.elements import Control_PlantInput, Control_PlantOutput, Element, Model
from plant.expressions.scope import Refusal

E = TypeVar("E", bound=Element)


def asked(model: Model, kind: type[E], id: int) -> E:
    """The element of a type with this id."""
    try:
        return model.find(kind, id)
    except ModelError as error:
        raise Refusal(str(error)) from None


def listed(model: Model, kind: type[Control_PlantInput] | type[Control_PlantOutput], id: int, k: int) -> int:
    """Id of variable k, from 1, of a port."""
    variables = asked(model, kind, id).variable_id_list
    if k > len(variables):
        raise Refusal(f"{kind.tag} {id} has {len(variables)} signals, not {k}")
    return int(variables[k - 1])
