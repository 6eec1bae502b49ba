"""What a result tells of its run beside the signals, by its functions alone and of a run."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from blocks import Sine, UnitDelay
from cosim import Diagram, simulate
from cosim.engines.counters import Counters
from cosim.run.told import statistics_of


@pytest.mark.parametrize(
    ("limited", "state"), [({}, None), ({3: 1}, "x3"), ({0: 5, 4: 9, 7: 2}, "x4"), ({9: 6, 2: 5}, "x9")]
)
def test_what_a_run_has_cost(limited, state):
    system = SimpleNamespace(rates=(Fraction(1, 10), "listed"), state_name=lambda k: f"x{k}")
    counters = Counters(steps=11, rejected=2, evaluations=70, events=3, limited_by=limited)
    found = statistics_of(system, 1.5, lambda: {"wall time [s]": 0.25}, counters, [16, 4])
    assert dict(found) == {
        "simulated time [s]": 1.5, "wall time [s]": 0.25, "steps": 11, "rejected steps": 2,
        "evaluations": 70, "events": 3, "ticks": {"1/10": 16, "listed": 4},
        "state that limited most steps": state,
    }  # fmt: skip


def test_settings_that_concern_a_run_or_were_given_are_told():
    d = Diagram("told")
    d.add("u", Sine()) >> d.add("late", UnitDelay(sample=0.1))
    plain = simulate(d, 0.1, engine="reference").settings
    given = simulate(d, 0.1, engine="reference", wall_limit=60.0, seed=3).settings
    assert {"wall_limit", "seed"} & set(plain) == set()
    assert (given["wall_limit"].value, given["seed"].value) == (60.0, 3)
    assert plain["rtol"].value == 1e-8 and plain["engine"].value == "reference"
    assert plain["version of numpy"].value == np.__version__
    assert plain["system hash"].value == d.system().hash
