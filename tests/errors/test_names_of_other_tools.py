"""Names that users of other tools type: each is answered with what to write here."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import cosim
from blocks import Gain, Integrator, PlantloopError, Step
from cosim import FMU, Diagram, Result, Study, export_fmu, simulate, simulate_many


def ramp() -> Diagram:
    d = Diagram("ramp")
    d.add("u", Step(1.0))
    d.add("x", Integrator())
    d.connect("u.y -> x.u")
    return d


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate(ramp(), 2.0, engine="reference")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("t", "the instants are result.time"),
        ("x", "a signal is result['x.y']"),
        ("y", "a signal is result['block.port']"),
        ("to_dataframe", "write result.to_pandas()"),
        ("to_parquet", "to_pandas().to_parquet("),
        ("to_netcdf", "write result.save('run.nc')"),
        ("plott", "did you mean 'plot'"),
    ],
)
def test_attributes_of_a_result(result: Result, name: str, said: str) -> None:
    with pytest.raises(AttributeError) as found:
        getattr(result, name)
    assert said in str(found.value) and not hasattr(result, name)


def test_a_result_is_still_copied_and_pickled(result: Result) -> None:
    for again in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert (again["x.y"] == result["x.y"]).all()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("simulate_fmu", "did you mean 'simulate'"),
        ("bode", "Write from cosim import frequency_response"),
        ("lqr", "Write from blocks import LQR"),
        ("Simulator", "did you mean 'Simulation'"),
        ("bode_plot", "Write from cosim import frequency_response"),
        ("stability_margins", "did you mean 'margins'|Write from cosim import margins"),
        ("c2d", r"control\.c2d\(linearize\(plant\), 0\.01\)"),
        ("read_model_description", r"FMU\('unit\.fmu'\)\.description"),
        ("LinearQuadraticRegulator", "Write from blocks import LQR"),
    ],
)
def test_functions_of_other_packages(name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=said):
        getattr(cosim, name)


@pytest.mark.parametrize(("name", "here"), [("add_block", "add"), ("AddSystem", "add"), ("wire", "connect")])
def test_methods_of_diagrams(name: str, here: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean '{here}'"):
        getattr(Diagram("d"), name)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"step_size": 0.1}, "did you mean 'sample'"),
        ({"communication_step_size": 0.1}, "did you mean 'sample'"),
        ({"start_values": {}}, "did you mean 'start'"),
        ({"fmi_type": "cs"}, "did you mean 'kind'"),
    ],
)
def test_fields_of_an_fmu(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PlantloopError, match=said):
        FMU("motor.fmu", **given)


def test_settings() -> None:
    d = ramp()
    with pytest.raises(PlantloopError, match="did you mean 'kinds'"):
        export_fmu(d, "a.fmu", fmi_type="cs")  # type: ignore[call-arg]
    with pytest.raises(PlantloopError, match="did you mean 'step'"):
        simulate(d, 1.0, step_size=0.1)  # type: ignore[call-arg]
    with pytest.raises(PlantloopError, match="did you mean 'sampling'"):
        Study(d, until=1.0, monte_carlo=10)  # type: ignore[call-arg]
    with pytest.raises(PlantloopError, match=r'Write \[\{"parameters": \{"block.k": 1.0\}'):
        simulate_many(d, [{"u.after": 1.0}], 1.0)


def test_ports_and_blocks_of_a_diagram() -> None:
    d = ramp()
    with pytest.raises(PlantloopError, match=r"no block 'x\.y'.*a port is diagram\['x'\]\['y'\]"):
        d["x.y"]
    with pytest.raises(PlantloopError, match=r"the name comes first: write add\('g', Gain\(k=2\.0\)\)"):
        d.add(Gain(2.0), "g")  # type: ignore[arg-type]
    with pytest.raises(PlantloopError, match=r"the name comes first: write add\('part', <Diagram"):
        d.add(ramp(), "part")  # type: ignore[arg-type]


def test_several_inputs_are_grounded_at_once() -> None:
    d = Diagram("open")
    for name in "abc":
        d.add(name, Integrator(1.0))
    d.ground("a.u", d["b"]["u"], "c.u")
    assert simulate(d, 1.0, engine="reference")["c.y"][-1] == 1.0
    with pytest.raises(PlantloopError, match="'z'"):
        d.ground("a.u", "z.u")
