"""Signals and values of system structures on their way: units, transformations, dictionaries."""

import numpy as np
import pytest

from blocks import PlantloopError
from cosim import export_ssp, import_ssp, simulate
from cosim.fmi.ssp.ssd_reader import read_ssp
from tests.helpers.fmus import build_fmu, needs_compiler
from tests.helpers.ssp_packages import component, connection, system, written

pytestmark = needs_compiler
UNITS = (
    '<ssd:Units><ssc:Unit name="cm"><ssc:BaseUnit m="1" factor="0.01"/></ssc:Unit>'
    '<ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit></ssd:Units>'
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fmus")
    return {name: build_fmu(name, folder) for name in ("mass", "lag")}


def test_connections_convert_units_and_transform(files, tmp_path):
    """The lag takes x in cm; units are converted before the transformation, unless the connection says no."""
    connector = lambda name, kind, unit: (
        f'<ssd:Connectors><ssd:Connector name="{name}" kind="{kind}"><ssc:Real unit="{unit}"/>'
        "</ssd:Connector></ssd:Connectors>"
    )
    port, out = connector("u", "input", "cm"), connector("x", "output", "m")
    linear = '<ssc:LinearTransformation factor="100" offset="1"/>'
    elements = component("m", "mass", out) + component("l", "lag", port)
    found = []
    for name, link in (
        ("units", connection("m.x", "l.u")),
        ("linear", connection("m.x", "l.u", linear)),
        ("as is", connection("m.x", "l.u", suppressUnitConversion="true")),
        ("linear alone", connection("m.x", "l.u", linear, suppressUnitConversion="true")),
    ):
        path = written(tmp_path / f"{name}.ssp", system(elements, link), files, after=UNITS)
        r = simulate(import_ssp(path, sample="1/10"), 0.1, coupling="jacobi", log_at=[0.1])
        found.append(r["l.y"][0, 0])
    expected = (1 - np.exp(-0.1)) * (0.1 * np.array([100, 100 * 100, 1, 100]) + [0, 1, 0, 1])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_transformation_is_written_without_a_conversion_of_units(files, tmp_path):
    """Other tools convert units as well where they are not told to leave it."""
    port = '<ssd:Connectors><ssd:Connector name="{}" kind="{}"><ssc:Real unit="{}"/></ssd:Connector>'
    port += "</ssd:Connectors>"
    elements = component("m", "mass", port.format("x", "output", "m"))
    elements += component("l", "lag", port.format("u", "input", "cm"))
    link = connection("m.x", "l.u", '<ssc:LinearTransformation factor="2" offset="1"/>')
    first = written(tmp_path / "first.ssp", system(elements, link), files, after=UNITS)
    again = export_ssp(import_ssp(first, sample="1/10"), tmp_path / "again.ssp")
    (c,) = read_ssp(again).system.connections
    assert (c.transformation.factor, c.transformation.offset, c.convert_units) == (200.0, 1.0, False)
    ends = [simulate(import_ssp(p, sample="1/10"), 0.1)["l.y"][-1, 0] for p in (first, again)]
    assert ends[0] == ends[1] == pytest.approx((1 - np.exp(-0.1)) * (200 * 0.1 + 1), rel=1e-12)


@pytest.mark.parametrize(
    ("entry", "inside", "expected"),
    [
        ("", '<ssc:LinearTransformation factor="10" offset="1"/>', 10 * 0.02 + 1),  # 2 cm are 0.02 m
        ('suppressUnitConversion="true"', '<ssc:LinearTransformation factor="10" offset="1"/>', 10 * 2 + 1),
        ('suppressUnitConversion="true"', "", 2),
        ("", "", 0.02),
    ],
)
def test_values_are_converted_before_a_mapping_changes_them(entry, inside, expected, files, tmp_path):
    bindings = (
        '<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="1.0" '
        'name="v"><ssv:Parameters><ssv:Parameter name="place"><ssv:Real value="2" unit="cm"/>'
        "</ssv:Parameter></ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues><ssd:ParameterMapping>"
        f'<ssm:ParameterMapping version="1.0"><ssm:MappingEntry source="place" target="m.x" {entry}>{inside}'
        "</ssm:MappingEntry></ssm:ParameterMapping></ssd:ParameterMapping></ssd:ParameterBinding>"
        "</ssd:ParameterBindings>"
    )
    text = system(component("m", "mass"), before=bindings)
    path = written(tmp_path / "mapped.ssp", text, files, after=UNITS)
    found = import_ssp(path, sample="1/10").system(driven=True).parameters["m.x"].initial
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_mapping_of_items_changes_them(tmp_path):
    fmu = build_fmu("feedthrough")
    items = '<ssc:Item name="one" value="1"/><ssc:Item name="two" value="2"/>'
    enumerations = (
        f'<ssd:Enumerations><ssc:Enumeration name="Option">{items}</ssc:Enumeration></ssd:Enumerations>'
    )
    bindings = (
        '<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="1.0" '
        'name="v"><ssv:Parameters><ssv:Parameter name="choice"><ssv:Enumeration name="Option" value="one"/>'
        "</ssv:Parameter></ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues><ssd:ParameterMapping>"
        '<ssm:ParameterMapping version="1.0"><ssm:MappingEntry source="choice" target="f.Enumeration_input">'
        '<ssc:EnumerationMappingTransformation><ssc:MapEntry source="one" target="two"/>'
        "</ssc:EnumerationMappingTransformation></ssm:MappingEntry></ssm:ParameterMapping>"
        "</ssd:ParameterMapping></ssd:ParameterBinding></ssd:ParameterBindings>"
    )
    text = system(component("f", "feedthrough"), before=bindings)
    path = written(tmp_path / "items.ssp", text, {"feedthrough": fmu}, after=enumerations)
    r = simulate(import_ssp(path, sample="1/10"), 0.1)
    assert r["f.Enumeration_output"][-1, 0] == 2


OTHERS = (
    '<ssd:Enumerations><ssc:Enumeration name="Other"><ssc:Item name="two" value="1"/>'
    '<ssc:Item name="one" value="2"/></ssc:Enumeration></ssd:Enumerations>'
)


@pytest.mark.parametrize(("named", "after"), [("", ""), ("", OTHERS), ('name="Other"', OTHERS)])
def test_an_item_of_no_enumeration_is_that_of_the_variable(named, after, tmp_path):
    fmu = build_fmu("feedthrough")
    bindings = (
        '<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="1.0" '
        'name="v"><ssv:Parameters><ssv:Parameter name="Enumeration_input">'
        f'<ssv:Enumeration value="two" {named}/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet>'
        "</ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
    )
    text = system(component("f", "feedthrough", bindings))
    path = written(tmp_path / "items.ssp", text, {"feedthrough": fmu}, after=after)
    r = simulate(import_ssp(path, sample="1/10"), 0.1)
    assert r["f.Enumeration_output"][-1, 0] == (1 if named else 2)


def with_dictionary(*connections):
    """One mass, two lags and the signal dictionary "bus" between them."""
    elements = component("m", "mass") + component("l", "lag") + component("k", "lag")
    elements += '<ssd:SignalDictionaryReference name="bus" dictionary="D"/>'
    return system(elements, "".join(connections))


def test_signal_dictionaries_transform_on_both_sides(files, tmp_path):
    double, more = (f'<ssc:LinearTransformation factor="{a}" offset="{b}"/>' for a, b in ((2, 1), (3, 4)))
    wires = (connection("m.x", "bus.s", double), connection("bus.s", "l.u", more), connection("bus.s", "k.u"))
    path = written(tmp_path / "bus.ssp", with_dictionary(*wires), files, version="2.0")
    r = simulate(import_ssp(path, sample="1/10"), 0.1)
    reached = (1 - np.exp(-0.1)) * np.array([3 * (2 * 0.1 + 1) + 4, 2 * 0.1 + 1])
    np.testing.assert_allclose([r["l.y"][-1, 0], r["k.y"][-1, 0]], reached, rtol=1e-12)


@pytest.mark.parametrize(
    ("wires", "said"),
    [
        (
            [connection("bus.s", "l.u")],
            r"ssp:\d+: .*to 'l\.u' comes from 's' of dictionary 'bus', to which nothing",
        ),
        (
            [connection("m.x", "bus.s"), connection("m.v", "bus.s"), connection("bus.s", "l.u")],
            r"ssp:\d+: two connections end at 's' of dictionary 'D'",
        ),
    ],
)
def test_signals_of_a_dictionary_have_one_source(wires, said, files, tmp_path):
    path = written(tmp_path / "bus.ssp", with_dictionary(*wires), files, version="2.0")
    with pytest.raises(PlantloopError, match=said):
        import_ssp(path, sample="1/10")


@pytest.mark.parametrize(
    ("inside", "after", "said"),
    [
        ('<ssc:BooleanMappingTransformation><ssc:MapEntry source="maybe" target="true"/>'
         "</ssc:BooleanMappingTransformation>", "", "source of a mapping is 'maybe', which is no Boolean"),
        ('<ssc:IntegerMappingTransformation><ssc:MapEntry source="1" target="1.5"/>'
         "</ssc:IntegerMappingTransformation>", "", "target of a mapping is '1.5', which is no Integer"),
        ("", UNITS.replace('m="1"', 'm="0.5"', 1), "m is 0.5, expected a whole number"),
        ("", '<ssd:Enumerations><ssc:Enumeration name="E"><ssc:Item name="a" value="1.5"/></ssc:Enumeration>'
         "</ssd:Enumerations>", "value is 1.5, expected a whole number"),
    ],
)  # fmt: skip
def test_numbers_that_are_none_of_their_kind(inside, after, said, files, tmp_path):
    text = system(component("m", "mass") + component("l", "lag"), connection("m.x", "l.u", inside))
    path = written(tmp_path / "bad.ssp", text, files, version="2.0", after=after)
    with pytest.raises(PlantloopError, match=rf"\.ssd:\d+: {said}"):
        import_ssp(path, sample="1/10")
