"""Named places in the vectors of a system: which number a message is about."""

from __future__ import annotations

import numpy as np
import pytest

from cosim.slots import Place, Slot


@pytest.mark.parametrize("first", [0, 5])
def test_a_place_is_the_number_of_its_component(first):
    slot = Slot("y", np.arange(first, first + 3), np.zeros(3))
    assert slot.components == ["0", "1", "2"]
    assert [str(slot.place(first + k)) for k in range(3)] == ["y[0]", "y[1]", "y[2]"]
    assert slot.place(first + 2) == Place("y", "", 2)


def test_the_place_of_one_number_has_no_component():
    slot = Slot("y", np.array([7]), np.zeros(1))
    assert slot.place(7) == Place("y", "") and str(slot.place(7)) == "y" and slot.components == [""]
    assert Slot("none", np.zeros(0, dtype=int), np.zeros(0)).components == []
