"""What expressions name by number: signals of ports, counted from 1."""

from __future__ import annotations

import pytest

from plant.elements import Body_Rigid, Control_PlantInput, Control_PlantOutput, Model, Reference_Variable
from plant.equations.lookup import asked, listed
from plant.expressions.scope import Refusal


@pytest.mark.parametrize("kind", [Control_PlantInput, Control_PlantOutput])
def test_signals_of_a_port_are_counted_from_one(kind):
    variables = [Reference_Variable(id=id, expr="0") for id in (12, 15, 11)]
    ground = Body_Rigid(id=1, isground=True)
    model = Model.build([ground, *variables, kind(id=4, label="p", variable_id_list=(12, 15, 11))])
    assert [listed(model, kind, 4, k) for k in (1, 2, 3)] == [12, 15, 11]
    with pytest.raises(Refusal, match=f"{kind.tag} 4 has 3 signals, not 4"):
        listed(model, kind, 4, 4)
    assert asked(model, Reference_Variable, 15) is variables[1]
    with pytest.raises(Refusal, match="5"):
        asked(model, kind, 5)
