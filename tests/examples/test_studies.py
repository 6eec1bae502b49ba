"""The studies among the examples run, and their cases are the runs made by hand."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from cosim import Study, simulate
from cosim.scenario import load_scenario
from tests.helpers.example_runs import ran

EXAMPLES = Path(__file__).parents[2] / "examples" / "inverted_pendulum"


@pytest.mark.slow
def test_robustness_of_the_pendulum(tmp_path):
    study = Study(EXAMPLES / "robustness.toml")
    assert len(study) == 4096
    s = study.run(tmp_path / "out", limit=24)
    assert set(s.table["status"]) == {"done"}
    assert s.table["stays up"].all()
    assert s.table["settles"].sum() > 12
    assert len(s.missing) == 4096 - 24
    masses = study.cases.columns["plant.pendulum.mass"]
    assert masses.mean() == pytest.approx(0.2, abs=1e-4)
    assert masses.min() >= 0.1
    k = int(s.table.index[7])
    angle = s.case(k).result["plant.pendulum"][:, 0]
    fine = (EXAMPLES / "robustness.toml").read_text().replace("every = 0.02", "every = 0.001")
    (tmp_path / "fine.toml").write_text(fine)
    shutil.copy(EXAMPLES / "inverted_pendulum.xml", tmp_path)
    same = Study(tmp_path / "fine.toml").case(k).result["plant.pendulum"][:, 0]
    assert s.table["peak"][k] == pytest.approx(np.abs(same).max(), abs=1e-6)
    assert np.abs(angle).max() < s.table["peak"][k] - 5e-5
    assert np.array_equal(s.signals["plant.pendulum"][k, :, 0], angle.astype("float32"))


@pytest.mark.slow
def test_the_scheduled_car_is_worst_where_the_linear_model_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, worst = ran("steering_falsified.py")
    assert worst.margin == pytest.approx(worst.grid_margin, abs=1e-4)
    assert worst.margin < 0
    assert worst.speed == pytest.approx(worst.grid_speed, abs=0.3)
    assert worst.heading == pytest.approx(worst.grid_heading, abs=2e-4)


@pytest.mark.slow
def test_the_stiffness_of_the_four_bar(tmp_path):
    pytest.importorskip("pymoo")
    study = Study(EXAMPLES.parent / "four_bar" / "stiffness.toml")
    found = study.optimise(tmp_path / "out")
    stiffness = found.best["plant.Force_SpringDamper/1.stiffness"]
    assert stiffness == pytest.approx(1e6, rel=0.05)  # ANGLES of four_bar.py
    assert found.best["at rest"]


@pytest.mark.slow
def test_holds_and_rates_of_the_pendulum(tmp_path):
    study = Study(EXAMPLES / "hold_study.toml")
    s = study.run(tmp_path / "out")
    assert list(s.table["variant"].unique()) == list(study.plan.variants)
    assert s.table["stays up"].all()
    scenario = load_scenario(EXAMPLES / "hold_study.toml")
    by_hand = simulate(
        scenario.diagram(),
        5.0,
        initial={"plant.hinge.q": -0.3},
        log_every=0.005,
        settings=scenario.settings(),
    )
    assert s.table["peak"][0] == np.abs(by_hand["plant.pendulum"][:, 0]).max()
    t, u = by_hand.ticks("controller.u")
    assert s.table["effort"][0] == pytest.approx((u[:-1, 0] ** 2 * np.diff(t)).sum(), rel=1e-9)
