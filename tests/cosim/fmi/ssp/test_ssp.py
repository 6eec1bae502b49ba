"""System structures in and out: round trip, units, parameter sets, nesting, other tools, bad files."""

import re
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from lxml import etree
from typer.testing import CliRunner

from blocks import Gain, PlantloopError
from cosim import Diagram, export_ssp, import_ssp, simulate
from cosim.cli.cli import app
from cosim.fmi import FMU
from cosim.fmi.ssp.ssd_reader import read_ssp
from cosim.result.result import Result
from tests.helpers.fmus import build_fmu, needs_compiler
from tests.helpers.ssp_packages import SPACES, component, connection, definition, system, written

pytestmark = needs_compiler
SCHEMAS = Path(fmpy.__file__).parent / "ssp" / "schema"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fmus")
    return {name: build_fmu(name, folder) for name in ("mass", "coupled", "lag")}


def two(files):
    d = Diagram("two")
    d.add("one", FMU(files["mass"], sample="1/100", start={"x": 0.3}))
    d.add("two", FMU(files["coupled"], sample="1/50", offset="1/100"))
    for wire in ("two.f one.f", "one.x two.x1", "one.v two.v1"):
        d.connect(*wire.split())
    d.outport("place", "one.x")
    return d


# --- round trip -------------------------------------------------------------------------------------------
def test_round_trip_gives_the_same_run(files, tmp_path):
    d = two(files)
    path = export_ssp(d, tmp_path / "two.ssp", parameters={"one.k": 90.0}, stop=2.0)
    again = import_ssp(path)
    a = simulate(d, 1.0, coupling="jacobi", parameters={"one.k": 90.0})
    b = simulate(again, 1.0, coupling="jacobi")
    assert a["two.f"].tobytes() == b["two.f"].tobytes()
    np.testing.assert_array_equal(b["place"], b["one.x"])
    assert read_ssp(path).experiment.stop == 2.0
    second = export_ssp(again, tmp_path / "again.ssp", stop=2.0)
    assert read_ssp(second).system.connections == _without_lines(read_ssp(path).system.connections, second)


def _without_lines(connections, path):
    """The same connections; the file they are compared with may count other lines."""
    lines = [c.line for c in read_ssp(path).system.connections]
    from dataclasses import replace

    return tuple(replace(c, line=line) for c, line in zip(connections, lines, strict=True))


def test_what_is_written_follows_the_schemas(files, tmp_path):
    path = export_ssp(two(files), tmp_path / "two.ssp", start=0.0, stop=2.0)
    with zipfile.ZipFile(path) as archive:
        for name, schema in (
            ("SystemStructure.ssd", "Description"),
            ("resources/parameters.ssv", "ParameterValues"),
        ):
            checker = etree.XMLSchema(etree.parse(str(SCHEMAS / f"SystemStructure{schema}.xsd")))
            assert checker.validate(etree.fromstring(archive.read(name))), checker.error_log


def test_another_tool_runs_it(files, tmp_path):
    """FMPy steps all with inputs held, which it hands over a step late; its rows show the ends of steps."""
    from fmpy.ssp.simulation import simulate_ssp
    from fmpy.ssp.ssd import read_ssv

    d = Diagram("chain")
    d.add("mass", FMU(files["mass"], sample="1/100", start={"x": 0.5}))
    d.add("lag", FMU(files["lag"], sample="1/100"))
    d.connect("mass.x", "lag.u")
    d.connect("lag.y", "mass.f")
    path = str(export_ssp(d, tmp_path / "chain.ssp"))
    values = read_ssv(path, "resources/parameters.ssv")
    rows = simulate_ssp(path, stop_time=0.5, step_size=0.01, parameter_set=values)
    r = simulate(d, 0.5, coupling="jacobi", log_every="1/100")
    ours = r["mass.x"].ravel()[np.rint(rows["time"] * 100).astype(int) + 1]
    np.testing.assert_allclose(rows["mass.x"], ours, atol=2e-4)


def test_nested_systems_are_diagrams_inside(files, tmp_path):
    inner = Diagram("inner")
    inner.add("lag", FMU(files["lag"], sample="1/100", start={"T": 0.5}))
    inner.connect(inner.inport("u"), "lag.u")
    inner.outport("y", "lag.y")
    d = Diagram("outer")
    d.add("mass", FMU(files["mass"], sample="1/100"))
    d.add("filter", inner)
    d.connect("mass.x", "filter.u")
    d.connect("filter.y", "mass.f")
    again = import_ssp(export_ssp(d, tmp_path / "nested.ssp"))
    a, b = (simulate(x, 0.5, coupling="jacobi") for x in (d, again))
    assert a["filter/lag.y"].tobytes() == b["filter/lag.y"].tobytes()


# --- reading ----------------------------------------------------------------------------------------------
def test_outer_values_win_and_mappings_rename(files, tmp_path):
    inside = (
        "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>"
        '<ssv:ParameterSet version="1.0" name="own"><ssv:Parameters><ssv:Parameter name="k">'
        '<ssv:Real value="1"/></ssv:Parameter><ssv:Parameter name="c">'
        '<ssv:Real value="7"/></ssv:Parameter></ssv:Parameters>'
        "</ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
    )
    outer = (
        '<ssd:ParameterBindings><ssd:ParameterBinding source="resources/all.ssv">'
        '<ssd:ParameterMapping source="resources/all.ssm"/></ssd:ParameterBinding></ssd:ParameterBindings>'
    )
    values = (
        f'<ssv:ParameterSet {SPACES} version="1.0" name="all"><ssv:Parameters>'
        '<ssv:Parameter name="stiffness"><ssv:Real value="2"/></ssv:Parameter></ssv:Parameters>'
        "</ssv:ParameterSet>"
    )
    mapping = (
        f'<ssm:ParameterMapping {SPACES} version="1.0"><ssm:MappingEntry source="stiffness" target="m.k">'
        '<ssc:LinearTransformation factor="10"/></ssm:MappingEntry></ssm:ParameterMapping>'
    )
    path = written(
        tmp_path / "values.ssp", system(component("m", "mass", inside), before=outer), files,
        all_ssv=values, all_ssm=mapping,
    )  # fmt: skip
    d = import_ssp(path, sample="1/10")
    assert d.system(driven=True).parameters["m.k"].initial == 20.0
    assert d.system(driven=True).parameters["m.c"].initial == 7.0


def test_open_inputs_keep_their_start_values(files, tmp_path):
    values = (
        "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>"
        '<ssv:ParameterSet version="1.0" name="own"><ssv:Parameters><ssv:Parameter name="f">'
        '<ssv:Real value="40"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues>'
        "</ssd:ParameterBinding>"
        "</ssd:ParameterBindings>"
    )
    path = written(tmp_path / "open.ssp", system(component("m", "mass", values)), files)
    r = simulate(import_ssp(path, sample="1/10"), 0.0, coupling="jacobi")
    assert r["m.a"][0, 0] == pytest.approx(40 - 100 * 0.1)


# --- single components of arrays, system structures inside others -------------------------------------
def array_system(wires, name="S", connectors=""):
    ports = '<ssd:Connectors><ssd:Connector name="y" kind="output"/><ssd:Connector name="u" kind="input"/>'
    parts = "".join(
        f'<ssd:Component name="{n}" type="application/x-fmu-sharedlibrary" implementation="CoSimulation" '
        f'source="resources/{file}.fmu">{ports}</ssd:Connectors></ssd:Component>'
        for n, file in (("s", "statespace"), ("l", "lag"))
    )
    return (
        f'<ssd:System name="{name}">{connectors}<ssd:Elements>{parts}</ssd:Elements>'
        f"<ssd:Connections>{''.join(wires)}</ssd:Connections></ssd:System>"
    )


RING = (connection("s.y", "l.u", startIndices="2"), connection("l.y", "s.u", endIndices="3"))


@pytest.fixture(scope="module")
def array_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    return {n: build_fmu(n, folder, version="3.0") for n in ("statespace", "lag")}


def ring(n, h):
    """s: x' = x + u, y = x + u of size 3, u = (1, 2, z); l: z' = y[1] - z; inputs held over h [s]."""
    grow, decay = np.exp(h), np.exp(-h)
    x, z, y = np.zeros(3), 0.0, np.array([1.0, 2.0, 0.0])
    found = [y]
    for _ in range(n):
        u = np.array([1.0, 2.0, z])
        x, z = grow * x + (grow - 1) * u, decay * z + (1 - decay) * y[1]
        y = x + u
        found.append(y)
    return np.array(found)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_single_components_of_arrays(engine, array_files, tmp_path):
    path = written(tmp_path / "ring.ssp", array_system(RING), array_files, version="2.0")
    r = simulate(import_ssp(path, sample=0.1), 1.0, log_every=0.1, engine=engine)
    np.testing.assert_allclose(r["s.y"], ring(10, 0.1), rtol=1e-7)


def test_a_value_of_an_array_and_connections_of_its_components(array_files, tmp_path):
    """Components that nothing is connected to keep what the parameter set gives."""
    values = (
        '<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="2.0" '
        'name="v"><ssv:Parameters><ssv:Parameter name="s.u"><ssv:Float64 value="4 5 6"/></ssv:Parameter>'
        "</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding>"
        "</ssd:ParameterBindings>"
    )
    text = array_system(RING, connectors=values)
    path = written(tmp_path / "ring.ssp", text, array_files, version="2.0")
    r = simulate(import_ssp(path, sample=0.1), 0.0)
    np.testing.assert_array_equal(r["s.y"][0], [4.0, 5.0, 0.0])


@pytest.mark.parametrize("kind", ["application/x-ssp-package", "application/x-ssp-definition"])
def test_system_structures_inside_others(kind, array_files, tmp_path):
    """The ring twice, once inside: connectors, an array among them, and values go through."""
    port = '<ssd:Connector name="{}" kind="{}"><ssc:Float64/>{}</ssd:Connector>'
    dimension = '<ssc:Dimension size="3"/>'
    ports = [port.format("y", "output", dimension), port.format("z", "output", "")]
    connectors = f"<ssd:Connectors>{''.join(ports)}</ssd:Connectors>"
    inner = array_system((*RING, connection("s.y", ".y"), connection("l.y", ".z")), "inside", connectors)
    if kind.endswith("package"):
        package = written(tmp_path / "inner.ssp", inner, array_files, version="2.0")
        more, source = {"inner_ssp": package.read_bytes()}, "resources/inner.ssp"
    else:
        more, source = {"inner_ssd": definition(inner, "2.0")}, "resources/inner.ssd"
        inner = inner.replace("resources/", "")
        more = {"inner_ssd": definition(inner, "2.0")}
    outer = (
        f'<ssd:System name="S"><ssd:Elements><ssd:Component name="box" type="{kind}" source="{source}">'
        f"{connectors}</ssd:Component>"
        '<ssd:Component name="l" implementation="CoSimulation" source="resources/lag.fmu"/></ssd:Elements>'
        f"<ssd:Connections>{connection('box.y', 'l.u', startIndices='2')}</ssd:Connections></ssd:System>"
    )
    path = written(tmp_path / "outer.ssp", outer, array_files, version="2.0", **more)
    r = simulate(import_ssp(path, sample=0.1), 1.0, log_every=0.1)
    np.testing.assert_allclose(r["box/s.y"], ring(10, 0.1), rtol=1e-7)
    np.testing.assert_allclose(r["l.y"], r["box/l.y"], rtol=1e-12)


@pytest.mark.parametrize(
    ("wires", "said"),
    [
        (
            (connection("s.y", "l.u", startIndices="4"),),
            r"names component '4' of 's\.y', which is of shape \(3,\)",
        ),
        ((connection("s.y", "l.u", startIndices="1 1"),), r"component '1 1' of 's\.y'"),
        ((connection("l.y", "s.u", endIndices="0"),), "endIndices is '0', expected whole numbers from 1 on"),
        ((connection("l.y", "s.u", endIndices="x"),), "endIndices is 'x'"),
        (
            2 * (connection("l.y", "s.u", endIndices="1"),),
            r"two connections end at component \(1,\) of 's\.u'",
        ),
    ],
)
def test_components_that_are_none(wires, said, array_files, tmp_path):
    path = written(tmp_path / "bad.ssp", array_system(wires), array_files, version="2.0")
    with pytest.raises(PlantloopError, match=said):
        import_ssp(path, sample=0.1)


# --- bad files --------------------------------------------------------------------------------------------
M = component("m", "mass")
BAD = {
    "no element": (system(M, connection("q.x", "m.f")), "made.ssp:4.*element 'q'"),
    "no output": (system(M, connection("m.y", "m.f")), r"made.ssp:4.*comes from 'm\.y'"),
    "no input": (system(M, connection("m.x", "m.g")), r"made.ssp:4.*goes to 'm\.g'"),
    "two of a name": (system(M + M), "two elements are called 'm'"),
    "no file": (system(component("m", "masse")), r"no 'resources/masse\.fmu'"),
    "outside": (
        system('<ssd:Component name="m" source="file:///etc/passwd"/>'), "which is not in the package"
    ),
    "no fmu": (
        system('<ssd:Component name="m" type="application/x-table" source="resources/mass.fmu"/>'),
        "only FMUs and system structures are supported",
    ),
    "no package": (
        system('<ssd:Component name="m" type="application/x-ssp-package" source="resources/mass.fmu"/>'),
        r"made\.ssp!resources/mass\.fmu.*no SystemStructure\.ssd in it",
    ),
    "itself": (
        system('<ssd:Component name="m" type="application/x-ssp-definition" source="SystemStructure.ssd"/>'),
        "inside 16 others.*Does one of them contain itself",
    ),
    "schema": ('<ssd:System name="S"><ssd:Nothing/></ssd:System>', "made.ssp.*does not follow the schema"),
    "no system": ("", "does not follow the schema"),
    "not closed": ("<ssd:System>", "no well-formed XML"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_structures_say_where(name, files, tmp_path):
    text, said = BAD[name]
    path = written(tmp_path / "made.ssp", text.replace("<ssd:Connections>", "\n<ssd:Connections>"), files)
    said = said.replace("made.ssp:4", r"made\.ssp(!SystemStructure\.ssd)?:4")
    with pytest.raises(PlantloopError, match=said):
        import_ssp(path)


@pytest.mark.parametrize("kinds", [("me",), ("cs", "me")])
def test_model_exchange_in_a_package(kinds, tmp_path):
    """An FMU that has no other kind, and one of which this kind is asked for: there and back."""
    built = {"lag": build_fmu("lag", kinds=kinds, start={"x": 1.0})}
    asked = component("a", "lag").replace("<ssd:Component", '<ssd:Component implementation="ModelExchange"')
    path = written(tmp_path / "me.ssp", system(asked), built)
    for package in (path, export_ssp(import_ssp(path), tmp_path / "again.ssp")):
        r = simulate(import_ssp(package), 1.0, engine="reference", rtol=1e-9)
        assert r["a.y"].ravel()[-1] == pytest.approx(np.exp(-1.0), rel=1e-7)


def test_a_kind_that_an_fmu_has_not(tmp_path):
    asked = component("a", "lag").replace("<ssd:Component", '<ssd:Component implementation="ModelExchange"')
    path = written(tmp_path / "me.ssp", system(asked), {"lag": build_fmu("lag", kinds=("cs",))})
    with pytest.raises(
        PlantloopError, match=r"me\.ssp.*:3: component 'a': FMU 'resources/lag.fmu': it is asked for"
    ):
        import_ssp(path)


def test_connectors_that_the_fmu_has_not(files, tmp_path):
    ports = '<ssd:Connectors><ssd:Connector name="q" kind="input"/><ssd:Connector name="u" kind="output"/>'
    path = written(tmp_path / "q.ssp", system(component("a", "lag", ports + "</ssd:Connectors>")), files)
    with pytest.warns(UserWarning) as said:
        import_ssp(path, sample=0.1)
    first, second = (str(w.message) for w in said)
    assert re.search(r":3: connector 'a\.q' is no variable of its FMU", first)
    assert re.search(r":3: connector 'a\.u' is of kind output, but an input of its FMU", second)


def test_bad_archives(files, tmp_path):
    with pytest.raises(PlantloopError, match="no such file"):
        import_ssp(tmp_path / "none.ssp")
    with pytest.raises(PlantloopError, match="no such file"):
        import_ssp("a" * 5000)
    (tmp_path / "text.ssp").write_text("hello")
    with pytest.raises(PlantloopError, match="no SSP package"):
        import_ssp(tmp_path / "text.ssp")
    good = export_ssp(two(files), tmp_path / "good.ssp")
    (tmp_path / "half.ssp").write_bytes(good.read_bytes()[:2000])
    with pytest.raises(PlantloopError, match="no SSP package"):
        import_ssp(tmp_path / "half.ssp")
    with zipfile.ZipFile(tmp_path / "climbs.ssp", "w") as archive:
        archive.writestr("../evil.ssd", "x")
    with pytest.raises(PlantloopError, match="leads out of the package"):
        import_ssp(tmp_path / "climbs.ssp")
    with zipfile.ZipFile(tmp_path / "empty.ssp", "w") as archive:
        archive.writestr("Other.ssd", "x")
    with pytest.raises(PlantloopError, match=r"no SystemStructure\.ssd in it; it has Other\.ssd"):
        import_ssp(tmp_path / "empty.ssp")
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>'
    with zipfile.ZipFile(tmp_path / "entities.ssp", "w") as archive:
        archive.writestr("SystemStructure.ssd", bomb)
    with pytest.raises(PlantloopError, match="document type|well-formed"):
        import_ssp(tmp_path / "entities.ssp")


def test_values_without_sense(files, tmp_path):
    binding = (
        '<ssd:ParameterBindings><ssd:ParameterBinding source="resources/all.ssv"/></ssd:ParameterBindings>'
    )
    for value, said in (
        ('<ssv:Parameter name="m.kk"><ssv:Real value="2"/></ssv:Parameter>', r"'m\.kk'.* no such variable"),
        ('<ssv:Parameter name="m.k"><ssv:Real value="two"/></ssv:Parameter>', "is 'two', which is no Real"),
        ('<ssv:Parameter name="m.k"/>', "has no name or no value"),
        (
            '<ssv:Parameter name="m.k"><ssv:Real value="NaN"/></ssv:Parameter>',
            r"v\.ssp!resources/all\.ssv:1: component 'm': FMU 'resources/\w+\.fmu': start of 'k' is nan",
        ),
    ):
        head = f'<ssv:ParameterSet {SPACES} version="1.0" name="a"><ssv:Parameters>'
        text = f"{head}{value}</ssv:Parameters></ssv:ParameterSet>"
        path = written(tmp_path / "v.ssp", system(M, before=binding), files, all_ssv=text)
        with pytest.raises(PlantloopError, match=said):
            import_ssp(path)
    value = '<ssv:Parameter name="n.k"><ssv:Real value="2"/></ssv:Parameter>'
    text = f"{head}{value}</ssv:Parameters></ssv:ParameterSet>"
    path = written(tmp_path / "v.ssp", system(M, before=binding), files, all_ssv=text)
    with pytest.warns(
        UserWarning, match=r"all\.ssv:1: the value of 'n\.k' has no effect: nothing in 'S' is called that"
    ):
        import_ssp(path)


def test_blocks_that_are_no_fmus_are_named(files, tmp_path):
    d = two(files)
    d.add("gain", Gain(2.0))
    with pytest.raises(PlantloopError, match="block 'gain' is a Gain, no FMU"):
        export_ssp(d, tmp_path / "x.ssp")
    with pytest.raises(PlantloopError, match=r"no parameter 'three\.k'"):
        export_ssp(two(files), tmp_path / "x.ssp", parameters={"three.k": 1.0})
    assert not (tmp_path / "x.ssp").exists()


def test_on_the_command_line(files, tmp_path):
    """Without trust nothing of it runs; with it, it is the diagram that was written."""
    path = export_ssp(two(files), tmp_path / "two.ssp", stop=0.5)
    ask = lambda *words: CliRunner().invoke(app, list(words))
    said = ask("info", str(path)).output
    for part in ("two, SSP 1.0", "one: resources/", "two.f -> one.f", "one.x = 0.3", "stop 0.5"):
        assert part in said
    refused = ask("run", str(path), "--out", str(tmp_path))
    assert refused.exit_code == 1 and "native code" in refused.output and "--trust" in refused.output
    assert ask("run", str(path), "--out", str(tmp_path), "--trust").exit_code == 0
    found, expected = Result.load(tmp_path / "result.nc"), simulate(two(files), 0.5)
    assert found["one.x"].tobytes() == expected["one.x"].tobytes()


def values_of(**given):
    each = '<ssv:Parameter name="{}"><ssv:Real value="{}"/></ssv:Parameter>'
    rows = "".join(each.format(*value) for value in given.items())
    return (
        "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>"
        f'<ssv:ParameterSet version="1.0" name="own"><ssv:Parameters>{rows}</ssv:Parameters>'
        "</ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
    )


SCALED = '<ssc:LinearTransformation factor="2" offset="7"/>'  # 7 where nobody gave a value
FORCE = '<ssd:Connectors><ssd:Connector name="i" kind="input"><ssc:Real/></ssd:Connector></ssd:Connectors>'


@pytest.mark.parametrize(
    ("outer", "top", "force"),
    [({}, {}, 40.0), ({"in.i": 10.0}, {}, 27.0), ({}, {"i": 5.0}, 40.0), ({"in.i": 10.0}, {"i": 5.0}, 27.0)],
)
def test_open_connectors_of_systems_have_their_value_or_none(outer, top, force, files, tmp_path):
    """What they lead to keeps its start value where they have none; twice through a file.

    The connector of the system inside was 0 instead, and what a transformation made of that; the values
    of those of the whole system were dropped.
    """
    inside = component("m", "mass", values_of(f=40.0))
    inner = (
        f'<ssd:System name="in">{FORCE}<ssd:Elements>{inside}</ssd:Elements><ssd:Connections>'
        f'<ssd:Connection startConnector="i" endElement="m" endConnector="f">{SCALED}</ssd:Connection>'
        "</ssd:Connections></ssd:System>"
    )
    links = '<ssd:Connection startConnector="i" endElement="n" endConnector="f"/>'
    before = FORCE + values_of(**{"n.f": 3.0}, **outer, **top)
    path = written(tmp_path / "a.ssp", system(inner + component("n", "mass"), links, before), files)
    for _ in range(2):
        d = import_ssp(path, sample="1/10")
        r = simulate(d, 0.0, coupling="jacobi")
        assert r["in/m.a"][0, 0] == pytest.approx(force - 100 * 0.1)
        assert r["n.a"][0, 0] == pytest.approx(top.get("i", 0.0) - 100 * 0.1)
        path = export_ssp(d, tmp_path / "again.ssp")
