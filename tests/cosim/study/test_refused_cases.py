"""Numbers of cases that blocks refuse in runs by hand: such a case is a row with the message, not a run."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import FirstOrder, PlantloopError, Saturation, Sine
from cosim import Diagram, Study, simulate
from plant import Plant
from tests.helpers.decks import deck, slider

LOWS, HIGHS, LAGS = (-1.0, 0.5, 2.0), (1.0, 1.5, 2.5), (1.0, -1.0, 0.0, 2.0)


def limited() -> Diagram:
    d = Diagram("limited")
    sine = d.add("s", Sine(3.0, 2.0))
    d.connect(sine["y"], d.add("b", FirstOrder(2.0))["u"])
    d.connect(sine["y"], d.add("c", Saturation(-1.0, 1.0))["u"])
    return d


@pytest.mark.slow
def test_those_that_a_block_refuses_are_rows_and_all_others_are_run(tmp_path):
    """A lag with a time constant of -1 s was measured as if it were one; limits the wrong way round too."""
    study = Study(
        limited(),
        until=0.3,
        sweep={"b.time_constant": LAGS, "c.low": LOWS, "c.high": HIGHS},
        metrics={"end": "final(b.y)"},
        requirements=[{"name": "low", "always": "c.y < 9"}],
        engine="reference",
        solver="rk4",
        step=0.1,
        log_every=0.1,
    )
    r = study.run(tmp_path / "out", executor="threads", workers=1)
    table = r.table
    lag, low, high = (table[name].to_numpy() for name in ("b.time_constant", "c.low", "c.high"))
    refused = (lag <= 0) | (low > high)
    assert refused.sum() == 22 and ((table["status"] == "failed") == refused).all()
    assert (table["end"].isna() == refused).all() and (table["low"].astype(bool) == ~refused).all()
    said = table["message"][lag == -1.0]
    assert set(said) == {"block 'b': FirstOrder: time_constant is -1.0 s, expected more than 0 s."}
    assert (
        table["message"][6]
        == "block 'c': Saturation: low is 2.0, expected at most high = 1.0. Exchange them."
    )
    values = r.signals["b.y"].to_numpy()
    assert (np.isnan(values).all(axis=1) == refused).all()
    by_hand = simulate(
        limited(),
        0.3,
        parameters={"b.time_constant": 2.0, "c.low": 0.5, "c.high": 1.5},
        engine="reference",
        solver="rk4",
        step=0.1,
        log_every=0.1,
    )
    case = int(table.index[(lag == 2.0) & (low == 0.5) & (high == 1.5)][0])
    assert (values[case] == by_hand["b.y"][:, 0]).all()
    with pytest.raises(PlantloopError, match="time_constant is -1.0 s"):
        _ = study.case(9).result
    again = study.run(tmp_path / "out", executor="threads", workers=1, only="failed")
    assert (again.table["status"] == table["status"]).all()


def test_elements_of_plants_too_and_no_mass_below_zero_is_run(tmp_path):
    d = Diagram("slider")
    d.add("p", Plant.read(deck(slider())))
    study = Study(
        d,
        until=0.1,
        sampling={"method": "list", "cases": [{"p.mass.mass": m} for m in (1.0, -1.0, 2.0)]},
        engine="reference",
    )
    r = study.run(tmp_path / "out", executor="threads", workers=1)
    assert list(r.table["status"]) == ["done", "failed", "done"]
    assert "Body_Rigid id=2" in r.table["message"][1] and "mass=-1 is not positive" in r.table["message"][1]


@pytest.mark.parametrize(
    "action",
    [
        {"at": 0.5, "set": {"b.time_constant": -1.0}},
        {"at": 0.5, "ramp": {"b.time_constant": -1.0}, "over": 0.2},
        {"when": "b.y > 0.5", "set": {"b.time_constant": -1.0}},
    ],
)
def test_actions_are_refused_what_the_block_refuses(action):
    with pytest.raises(
        PlantloopError, match=r'actions\[0\]\..*"b.time_constant": an action makes .* expected more'
    ):
        Study(limited(), until=1.0, actions=[action], engine="reference")


def test_what_actions_set_may_fit_what_others_set_and_cases_draw():
    """A low limit of 2 is fine where another action, or all cases, have put the high one above."""
    low = {"at": 0.5, "set": {"c.low": 2.0}}
    with pytest.raises(PlantloopError, match="an action makes 'c.low' 2.0"):
        Study(limited(), until=1.0, actions=[low], engine="reference")
    Study(limited(), until=1.0, actions=[low, {"at": 0.5, "set": {"c.high": 3.0}}], engine="reference")
    Study(limited(), until=1.0, actions=[low], sweep={"c.high": [5.0, 6.0]}, engine="reference")
