"""Runs that fail: the error, and what was computed until there."""

import numpy as np
import pytest

from blocks import SimulationError
from tests.helpers.runs import simulate


def fails(d, text, until=1.0, **options):
    options = {"log_every": 0.1} | options
    with pytest.raises(SimulationError, match=text) as caught:
        simulate(d, until, **options)
    r = caught.value.result
    assert not r.complete and r.message == str(caught.value)
    assert all(np.isfinite(values).all() for values in r.signals.values())
    return caught.value
