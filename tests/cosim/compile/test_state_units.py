"""Units of states: those of the outputs that show them, else of their rates times s; in results and FMUs."""

import xml.etree.ElementTree as ET
import zipfile
from dataclasses import dataclass

import pytest

from blocks import Block, Constant, FirstOrder, Integrator, Sine, StateSpace, UnitDelay
from cosim import Diagram, Enabled, simulate
from cosim.fmi import export_fmu


@dataclass(frozen=True)
class Motor(Block):
    """w' = k u, and what it has turned; only its speed is an output, in rpm."""

    def define(self, b):
        u, k = b.input("u", unit="V"), b.parameter("k", 2.0, unit="rad/s^2/V")
        w, turned = b.continuous("speed", 0.0, size=1), b.continuous("turned", 0.0, size=1)
        b.derivative(w, k * u)
        b.derivative(turned, w)
        b.output("y", w + 0.0 * turned)


def drive():
    d = Diagram("drive")
    d.add("v", Sine(), units={"y": "m/s"})
    d.add("x", Integrator([1.0, 2.0]), units={"y": ["m", "mm"]})
    d.add("two", Constant([1.0, 1.0]))
    d.add("part", Enabled(Integrator()))
    d.add("last", UnitDelay(0.1))
    d.add("lag", FirstOrder(1.0, 0.5))
    d.add("plain", StateSpace(-2.0, 1.0, 3.0))
    d.add("motor", Motor())
    d.add("one", Constant(1.0))
    d.connect("v.y -> part.u, last.u, lag.u, plain.u", "two.y -> x.u", "one.y -> part.enable, motor.u")
    return d


def test_states_have_units_where_something_says_them():
    system = drive().system()
    units = {name: signal.units for name, signal in system.inner.items()}
    assert units["x.x"] == ("m", "mm")
    assert units["part/inner.x"] == ("m",)
    assert units["last.x"] == ("m/s",)
    assert units["motor.speed"] == ("rad/s",)
    assert units["motor.turned"] == ("rad",)
    assert units["plain.x"] == units["lag.x"] == ()  # behind numbers without units


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_results_of_states_show_their_units(engine):
    r = simulate(drive(), 0.2, signals=["part/inner.x", "x.x", "last.x"], engine=engine)
    assert r.tree["part/inner.x"].unit(0) == "m" and r.tree["x.x"].units == ("m", "mm")
    assert r.to_xarray()["last.x"].attrs["units"] == "m/s"


def test_exported_states_and_their_derivatives_have_units(tmp_path):
    with zipfile.ZipFile(export_fmu(drive(), tmp_path / "drive.fmu")) as package:
        root = ET.fromstring(package.read("modelDescription.xml"))
    units = {v.get("name"): v.get("unit") for v in root.find("ModelVariables")}
    assert units["motor.turned"] == "rad" and units["der(motor.turned)"] == "rad/s"
    assert units["part.inner.x"] == "m" and units["der(part.inner.x)"] == "m/s"
    assert units["last.x"] == "m/s" and units["plain.x"] is None
    known = {u.get("name") for u in root.find("UnitDefinitions")}
    assert {u for u in units.values() if u} <= known
