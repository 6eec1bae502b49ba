"""Ports by the label a file gives them."""

from __future__ import annotations

import pytest

from blocks.errors import BlockError, WiringError
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Control_PlantInput,
    Control_PlantOutput,
    Reference_Variable,
)
from tests.helpers.slider import PUSH, on_rail


def cart(*labels: str) -> Plant:
    """A cart of 2 kg pushed by a force; every label names an output that shows its place."""
    outputs = [
        Control_PlantOutput(id=k, label=label, num_element=1, variable_id_list=(2,))
        for k, label in enumerate(labels, start=2)
    ]
    model = on_rail(
        Reference_Variable(id=1, label="push", type="EXPRESSION", expr="0"),
        Reference_Variable(id=2, label="x [m]", type="EXPRESSION", expr="DX(20)"),
        PUSH,
        Control_PlantInput(id=1, label="Push Force", num_element=1, variable_id_list=(1,)),
        *outputs,
        x=0.0,
        v=None,
    )
    return Plant.from_model(model)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("place", ["P3", "p3", "p-3"])
def test_a_label_names_its_port(place, engine):
    """x = F t^2 / (2 m), however the ports are spelled."""
    from blocks import Constant

    d = Diagram("cart")
    plant, force = d.add("plant", cart("P3" if place != "p-3" else "p-3")), d.add("force", Constant(3.0))
    d.connect(force["y"], plant["Push Force"])
    d.outport("place", plant[place])
    r = simulate(d, until=1.0, log_every=0.5, engine=engine)
    assert r["place"][-1, 0] == pytest.approx(0.75, abs=1e-9)
    assert (r[f"plant.{place}"] == r["place"]).all() and f"plant.{place}" in r


@pytest.mark.parametrize("order", [0, 1])
def test_an_output_shows_nothing_before_its_first_sample(order):
    """x = 0.75 t^2 at 0.5, 0.7, ...; until then 0, whatever the place is."""
    from blocks import Constant

    d = Diagram("cart")
    sampled = cart("P3").with_port("P3", sampling_period=0.2, offset_time=0.5, hold_order=order)
    d.connect(d.add("force", Constant(3.0))["y"], d.add("plant", sampled)["Push Force"])
    place = simulate(d, until=1.0, log_at=[0.0, 0.45, 0.6], engine="reference")["plant.P3"][:, 0]
    assert place.tolist() == [0.0, 0.0, pytest.approx(0.1875, abs=1e-9)]


def test_texts_too():
    d = Diagram("cart")
    d.add("plant", cart("P3"))
    d.ground("plant.Push Force")
    assert simulate(d, until=0.1, log_every=0.1)["plant.P3"].shape == (2, 1)


def test_changes_at_a_port_by_its_label():
    plant = cart("P3").with_port("Push Force", hold_order=1).with_port("P3", sampling_period=0.1)
    assert plant.inputs["push_force"].hold_order == 1
    assert plant.outputs["p3"].sampling_period == 0.1 and list(plant.outputs) == ["p3"]


def test_two_ports_of_one_label_are_not_guessed():
    with pytest.warns(UserWarning, match="labels give the port name 'p3'"):
        plant = cart("P3", "p3")
    with pytest.raises(BlockError, match="no port 'P3'; did you mean 'p3_"):
        plant.with_port("P3", hold_order=1)
    d = Diagram("cart")
    d.add("plant", plant)
    d.ground("plant.push_force")
    r = simulate(d, until=0.1)
    with pytest.raises(LookupError, match=r"no signal 'plant\.P3'"):
        r["plant.P3"]


def test_a_port_that_is_not_there_has_its_near_miss():
    d = Diagram("cart")
    plant = d.add("plant", cart("P3"))
    d.ground(plant["Push Force"])
    with pytest.raises(WiringError, match="did you mean 'p3'"):
        plant["P33"]
    d.outport("place", "plant.P33")
    with pytest.raises(WiringError, match="did you mean 'p3'"):
        d.system()
