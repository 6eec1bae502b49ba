"""Masks of what each component of a signal uses."""

import numpy as np

from cosim.compile.signal_nodes import _for_all


def test_what_one_component_uses_all_do():
    mask = np.array([[True, False, False], [False, False, True]])
    assert _for_all(mask, 4).tolist() == [[True, False, True]] * 4
