"""What a study says of formulas without a value, of steps, and how often it says the same."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, Constant, Gain, Integrator, Sine
from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError
from cosim import Diagram, Study
from cosim.cli.studies import instant_text


def way(start: float = 0.0) -> Diagram:
    d = Diagram("way")
    d.connect(d.add("u", Sine(1.0, 3.0))["y"], d.add("a", Integrator(start))["u"])
    return d


def test_a_distance_that_begins_at_zero_is_measured():
    """The slope of sqrt(x^2) is 0/0 there, which ended the run."""
    metrics = {"far": "max(sqrt(a.y^2))", "long": "duration(sqrt(abs(a.y)) > 0.1)"}
    one = Study(way(), until=0.2, metrics=metrics, engine="reference", log_every=0.05).case(0).measures
    assert one["status"] == "done" and 0 < one["long"] < 0.2
    assert one["far"] == Study(way(), until=0.2, engine="reference").case(0).result["a.y"][-1, 0]


def test_a_formula_without_a_value_is_told_by_the_names_of_what_looks_at_it():
    study = Study(
        way(0.5),
        until=0.1,
        metrics={"over": "max(1/(a.y - 0.5))", "other": "max(a.y)", "root": "rms(1/(a.y - 0.5))"},
        requirements=[{"name": "small", "always": "1/(a.y - 0.5) < 3"}],
        engine="reference",
    )
    one = study.case(0).measures
    assert one["status"] == "failed" and "@" not in one["message"]
    assert one["message"].startswith(
        "metric 'over' and metric 'root' and requirement 'small': the formula is inf at t=0"
    )
    assert "First non-finite term: 1 / 0." in one["message"]


@pytest.mark.parametrize(
    ("time", "before", "text"),
    [
        (0.5, 0.4, "0.5"),
        (1 + 2**-52, 1.0, "1.0000000000000002"),
        (1 + 1e-12, 1.0, "1.000000000001"),
        (1.0, 1.0, "1"),
    ],
)
def test_instants_of_a_replay_have_as_many_digits_as_tell_them_apart(time, before, text):
    assert instant_text(time, before) == text


@dataclass(frozen=True)
class Doubtful(Block):
    """Warns whenever its equations are asked for."""

    k: float = 1.0

    def define(self, b):
        """Declare ports."""
        warn_user("this is doubtful", UserWarning)
        b.output("y", self.k * b.input("u")[0])


def doubtful(k: float) -> Diagram:
    d = way()
    d.connect(d["a"]["y"], d.add("k", Doubtful(k))["u"])
    return d


def test_what_all_variants_warn_of_is_said_once_and_not_again_where_a_plan_is_sent():
    with pytest.warns(UserWarning, match="doubtful"):  # where they are drawn
        drawn = {"a": doubtful(1.0), "b": doubtful(2.0)}
    with pytest.warns(UserWarning, match="doubtful") as said:
        study = Study(None, variants=drawn, until=0.1, engine="reference")
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sent = pickle.loads(pickle.dumps(study.plan))
        assert sent.prepared(1).system.parameters


@pytest.mark.parametrize(("entry", "number"), [("0,1", 1), ("1, 0", 3), ("1,2", 5)])
def test_an_entry_of_a_matrix_named_by_row_and_column(entry, number):
    d = Diagram("t")
    d.add("c", Constant([1.0, 2.0, 3.0]))
    d.add("g", Gain([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    d.connect("c -> g")
    asked = {"until": 1.0, "metrics": {"m": "final(g.y[0])"}}
    with pytest.raises(PlantloopError, match=rf"of shape \(2, 3\), are counted.*'g\.k\[{number}\]'"):
        Study(d, sweep={f"g.k[{entry}]": [1.0]}, **asked)
    s = Study(d, sweep={f"g.k[{number}]": [10.0]}, **asked)
    row = s.case(0).run()["g.y"][-1]
    old = np.array([14.0, 32.0])
    row_of, column = divmod(number, 3)
    old[row_of] += (column + 1) * (10.0 - (3 * row_of + column + 1))
    assert row.tolist() == old.tolist()
