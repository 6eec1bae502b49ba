"""Units of a plant's ports: those that labels of shipped models say, in the model's units; on wires."""

import re
import warnings
from pathlib import Path

import pytest

from blocks import Constant, Gain, Selector, WiringError
from blocks.contract.units import PhysicalUnit
from cosim import Diagram, linearize, simulate
from plant import Plant

EXAMPLES = Path(__file__).parents[3] / "examples"
PENDULUM = EXAMPLES / "inverted_pendulum" / "inverted_pendulum.xml"
IN_LABEL = re.compile(r"\[([^\]]*)\]$")


def units(port):
    return [None if u is None else u.name for u in port.units]


SHIPPED = ("four_bar", "andrews_squeezer", "robot_2d", "bouncing_particle")


@pytest.mark.parametrize("file", [f"{name}.xml" for name in SHIPPED])
def test_they_are_what_the_labels_say(file):
    """Labels are texts that nobody reads; here they are the oracle."""
    found = next(EXAMPLES.rglob(file))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plant = Plant.read(found)
    compared = 0
    for port in (*plant.inputs.values(), *plant.outputs.values()):
        for label, unit in zip(port.labels, port.units, strict=False):
            said = IN_LABEL.search(label)
            if said and unit is not None:
                assert unit.is_same(PhysicalUnit.of(said[1])), (port.name, label, unit)
                compared += 1
    assert compared >= 2


def test_of_the_pendulum():
    plant = Plant.read(PENDULUM)
    assert units(plant.inputs["control_force"]) == ["N"]
    assert units(plant.outputs["pendulum"]) == ["rad", "rad/s"]
    assert units(plant.outputs["slider"]) == ["m", "m/s"]
    assert units(plant.with_port("control_force", hold_order=1).inputs["control_force"]) == ["N"]


@pytest.mark.parametrize("names, length, force", [
    ('length_unit="MILLIMETER" mass_unit="TONNE" force_unit="NEWTON"', "mm", "N"),
    ('length_unit="INCH" mass_unit="POUND_MASS" force_unit="POUND_FORCE"', "inch", "lbf"),
])  # fmt: skip
def test_in_the_units_of_the_model(tmp_path, names, length, force):
    text = PENDULUM.read_text()
    changed = re.sub(r"<Param_Unit [^>]*/>", f'<Param_Unit time_unit="SECOND" {names}/>', text)
    (tmp_path / "m.xml").write_text(changed)
    plant = Plant.read(tmp_path / "m.xml")
    assert units(plant.inputs["control_force"]) == [force]
    assert plant.outputs["slider"].units[1].is_same(PhysicalUnit.of(f"{length}/s"))


def test_without_names_of_units_only_angles_have_one(tmp_path):
    text = re.sub(r"<Param_Unit [^>]*/>", "", PENDULUM.read_text())
    (tmp_path / "m.xml").write_text(text)
    plant = Plant.read(tmp_path / "m.xml")
    assert plant.inputs["control_force"].units == () and plant.outputs["slider"].units == ()
    assert units(plant.outputs["pendulum"]) == ["rad", None]


@pytest.mark.slow
def test_long_sums_and_long_chains_of_variables_are_followed(tmp_path):
    """A force that is a sum of 3000 terms, the input among them; an output behind 300 variables."""
    text = PENDULUM.read_text()
    (force,) = re.findall(r'fx_expression="([^"]*)"|val_expression="([^"]*)"', text)[:1]
    old = next(filter(None, force))
    text = text.replace(f'"{old}"', f'"{old}' + " + 0*TIME" * 3000 + '"', 1)
    chain = "".join(
        f'<Reference_Variable id="{9000 + k}" type="EXPRESSION" expr="VARVAL({9001 + k})"/>'
        for k in range(300)
    )
    chain += '<Reference_Variable id="9300" type="EXPRESSION" expr="1.0"/>'
    chain += '<Control_PlantOutput id="900" label="deep" num_element="1" variable_id_list="9000"/>'
    end = text.index("<Control_PlantOutput")
    (tmp_path / "m.xml").write_text(text[:end] + chain + text[end:])
    plant = Plant.read(tmp_path / "m.xml")
    assert units(plant.inputs["control_force"]) == ["N"]
    assert plant.outputs["deep"].units == ()


def loop(**units):
    d = Diagram()
    d.add("plant", Plant.read(PENDULUM))
    d.add("F", Constant(5.0), units=units)
    d.ground("plant.disturbance_force")
    return d


def test_wires_to_a_plant_are_checked_and_converted():
    d = loop(y="m")
    d.connect("F.y -> plant.control_force")
    with pytest.raises(WiringError, match=r"'F\.y' is in m but input 'plant\.control_force' expects N"):
        d.system()
    plain, thousand = loop(), loop(y="mN")
    plain.connect("F.y -> plant.control_force")
    thousand.connect("F.y -> plant.control_force", convert=True)
    thousand.replace("F", Constant(5000.0), units={"y": "mN"})
    a, b = (simulate(x, 0.5)["plant.slider"] for x in (plain, thousand))
    assert abs(a - b).max() <= 1e-9 * abs(a).max()


def test_what_nobody_said_is_not_refused_but_listed():
    """A gain without a unit is free; a wire from a length to a force is a finding, and runs."""
    d = Diagram()
    d.add("plant", Plant.read(PENDULUM))
    d.ground("plant.disturbance_force")
    d.add("x", Selector([0]))
    d.connect("plant.slider -> x.in", "x.out -> plant.control_force")
    simulate(d, 0.01)
    (found,) = (f for f in d.check() if f.kind == "units")
    assert not found.fault and "in m but input 'plant.control_force' expects N" in found.text
    d.disconnect("plant.control_force")
    d.add("k", Gain(-1.0))
    d.connect("x.out -> k.u", "k.y -> plant.control_force")
    assert not [f for f in d.check() if f.kind == "units"]


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_results_and_linear_models_go_on_as_before(coordinates):
    d = Diagram()
    d.add("plant", Plant.read(PENDULUM, coordinates=coordinates))
    d.ground("plant.disturbance_force")
    d.connect(d.inport("u", unit="N"), d["plant"]["control_force"])
    r = simulate(d, 0.1)
    assert r.tree["plant.slider"].units == ("m", "m/s")
    assert r.to_xarray()["plant.pendulum"].attrs["component_units"] == '["rad", "rad/s"]'
    assert linearize(d).A.shape == (4, 4)
