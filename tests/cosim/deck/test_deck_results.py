"""What a run of a deck gives: numbers of published decks, its result and report, also where it is cut off."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.errors import PlantloopError
from cosim import simulate as run_plant
from cosim.deck import run_deck
from cosim.deck.report import rows
from plant import Plant
from tests.helpers.decks import off, ran, simulate, slider
from tests.helpers.plants import deck as shipped
from tests.helpers.plants import reference

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_the_four_bar_deck_as_it_stands(coordinates):
    """Angles of the published linkage, with the deck's own stiff integrator and tolerances."""
    rows = np.array(reference("fourbar")["reference"]["rows"])
    run = run_deck(shipped("four_bar.xml"), coordinates=coordinates)
    t = run.result.time
    assert t[-1] == 15.0 and len(t) == 1501
    at = [int(np.argmin(np.abs(t - row[0]))) for row in rows]
    asked = np.abs(t[at] - rows[:, 0]) < 1e-12
    assert asked.sum() > 10
    found = run.result["plant.angles_and_rates"][at][asked][:, :3]
    assert found == pytest.approx(rows[asked, 1:4], abs=2e-5)  # integr_tol of the deck is 1e-6
    assert run.result.settings["solver"].value == "rodas4"


def test_inputs_may_be_given():
    """The pendulum's cart pushed with 2 N, against the plant in a diagram."""
    path = shipped("inverted_pendulum.xml")
    given = run_deck(path, inputs={"control_force": 2.0})
    plant = Plant.read(path).with_port("control_force", hold_order=0)
    other = run_plant(plant, until=1.0, inputs={"control_force": 2.0}, log_at=[1.0])
    row = int(np.flatnonzero(given.result.time == 1.0)[0])
    for port in plant.outputs:
        assert given.result[f"plant.{port}"][row] == pytest.approx(other[f"plant.{port}"][-1], abs=1e-5)


def test_a_warning_is_told_once(recwarn):
    jump = '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" ref_marker_id="0" '
    jump += 'fz_expression="IF(DZ(20)+1.2: 0,0,15)"/>'
    commands = simulate("Static") + simulate("Transient", end_time=0.1) + '<Body_Rigid id="2" mass="3"/>'
    ran(slider() + jump, commands + simulate("Static") + simulate("Linear"))
    texts = [str(w.message) for w in recwarn.list]
    assert len(texts) == len(set(texts))


def test_only_the_plants_signals_are_in_the_result():
    run = ran(slider(), simulate("Static") + simulate("Transient", end_time=0.1))
    assert list(run.result) == ["plant.request_mass", "plant.guide.q", "plant.guide.qd"]  # and its states


@pytest.mark.slow
def test_the_motion_of_a_deck_is_seen_unless_it_changes_its_model(tmp_path):
    """Its result has the states and knows the plant; reports show its signals alone."""
    twice = simulate("Transient", end_time=0.1) + simulate("Transient", end_time=0.2)
    run = ran(slider(), simulate("Static") + twice)
    assert run.result.animate(tmp_path / "deck.gif", fps=10) == 3
    assert [text.partition(" =")[0] for place, text in rows(run) if place == "final"] == [
        "plant.request_mass"
    ]
    assert sum("plant.guide" in text for _, text in rows(run)) == 0
    changed = ran(slider(), twice + off("SPDP", 1) + simulate("Transient", end_time=0.3))
    assert changed.result.origin is None and len(changed.result["plant.guide.q"]) == len(changed.result.time)
    with pytest.raises(PlantloopError, match="or from a deck that changed its model"):
        changed.result.animate(tmp_path / "deck.gif")


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_ctrl_c_keeps_what_was_computed(engine):
    def stop(t):
        if t > 0.5:
            raise KeyboardInterrupt

    commands = simulate("Transient", end_time=0.4) + simulate("Transient", end_time=2)
    run = ran(slider(), commands + simulate("Static"), engine=engine, progress=stop)
    assert not run.complete and not run.result.complete and "interrupted at t=" in run.message
    assert len(run.steps) == 2 and 0.4 <= run.result.time[-1] <= 2.0


def test_channels_that_change_stand_side_by_side():
    """Three channels, then one of them and one more: by their labels, nan where a part does not have one."""
    half = simulate("Transient", end_time=0.1, num_steps=2)
    commands = half + '<Post_Request id="1" expr2="NULL" expr3="NULL" expr5="2*TIME"/>'
    run = ran(slider(), commands + simulate("Transient", end_time=0.2, num_steps=2))
    found = run.result["plant.request_mass"]
    assert run.result.tree["plant.request_mass"].labels == ("expr1", "expr2", "expr3", "expr5")
    assert np.isfinite(found).tolist() == [[True] * 3 + [False]] * 2 + [[True, False, False, True]] * 3
    assert found[2:, 3] == pytest.approx([0.2, 0.3, 0.4])
    assert found[:, 0] == pytest.approx(run.result["plant.guide.q"][:, 0])


def test_channels_of_one_number_are_told_apart():
    half = simulate("Transient", end_time=0.1, num_steps=1)
    commands = half + '<Post_Request id="1" expr3="NULL" expr4="7"/>'
    found = ran(slider(), commands + simulate("Transient", end_time=0.2, num_steps=1)).result
    assert found["plant.request_mass"][-1, 3] == 7.0 and np.isnan(found["plant.request_mass"][-1, 2])
