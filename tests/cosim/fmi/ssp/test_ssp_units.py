"""Units of values and connections in system structures, whoever defines them."""

import math
import re

import pytest

from cosim import import_ssp, simulate
from tests.helpers.fmus import build_fmu, needs_compiler
from tests.helpers.ssp_packages import component, connection, system, written

pytestmark = needs_compiler
CM = '<Unit name="cm"><BaseUnit m="1" factor="0.01"/></Unit>'


def unit(name, **base):
    exponents = " ".join(f'{k}="{v}"' for k, v in base.items())
    return f'<ssc:Unit name="{name}"><ssc:BaseUnit {exponents}/></ssc:Unit>'


def values(units="", **given):
    """A binding of values with units; `units` are defined beside them."""
    each = "".join(
        f'<ssv:Parameter name="{n}"><ssv:Real value="{x}" unit="{u}"/></ssv:Parameter>'
        for n, (x, u) in given.items()
    )
    defined = f"<ssv:Units>{units}</ssv:Units>" if units else ""
    return (
        '<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="1.0" '
        f'name="v"><ssv:Parameters>{each}</ssv:Parameters>{defined}</ssv:ParameterSet></ssd:ParameterValues>'
        "</ssd:ParameterBinding></ssd:ParameterBindings>"
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The mass has x in m, and f in N; what follows it takes x1 in cm. They define these units themselves."""
    folder = tmp_path_factory.mktemp("fmus")

    def in_cm(text):
        text = text.replace("<UnitDefinitions>", "<UnitDefinitions>" + CM)
        return re.sub(r'(<ScalarVariable name="x1".*?unit=)"m"', r'\1"cm"', text, flags=re.S)

    return {"mass": build_fmu("mass", folder), "coupled": build_fmu("coupled", folder, change=in_cm)}


def started(path, name):
    return import_ssp(path, sample="1/10").system(driven=True).parameters[name].initial


@pytest.mark.parametrize(
    "where", ["beside the value", "in the package", "in the package, with an exponent of 0"]
)
def test_a_variable_whose_unit_only_its_fmu_defines(where, files, tmp_path):
    km = unit("km", m=1, factor=1000, **({"s": 0} if "exponent" in where else {}))
    inside = where == "beside the value"
    text = system(component("m", "mass", values(km if inside else "", x=(2, "km"))))
    after = "" if inside else f"<ssd:Units>{km}</ssd:Units>"
    path = written(tmp_path / "a.ssp", text, files, after=after)
    assert started(path, "m.x") == 2000.0


def test_one_name_for_two_units_of_two_sets_of_values(files, tmp_path):
    miles = [values(unit("mile", m=1, factor=size), x=(2, "mile")) for size in (1609, 1852)]
    text = system(component("a", "mass", miles[0]) + component("b", "mass", miles[1]))
    path = written(tmp_path / "a.ssp", text, files)
    assert (started(path, "a.x"), started(path, "b.x")) == (3218.0, 3704.0)


@pytest.mark.parametrize("outer", [False, True])
def test_a_value_of_a_connector_of_a_system(outer, files, tmp_path):
    """In its unit, as that of an input of an FMU is."""
    port = '<ssd:Connector name="u" kind="input"><ssc:Real unit="N"/></ssd:Connector>'
    port = f"<ssd:Connectors>{port}</ssd:Connectors>"
    found = []
    for given in ((2000, "N"), (2, "kN")):
        own, around = values(u=given), values(**{"inner.u": given})
        inside = system(component("m", "mass"), connection(".u", "m.f"), port + ("" if outer else own))
        text = system(inside.replace('name="S"', 'name="inner"'), "", around if outer else "")
        newtons = [unit(n, kg=1, m=1, s=-2, factor=k) for n, k in (("N", 1), ("kN", 1000))]
        after = f"<ssd:Units>{''.join(newtons)}</ssd:Units>"
        path = written(tmp_path / f"{given[1]}.ssp", text, files, after=after)
        found.append(simulate(import_ssp(path, sample="1/10"), 0.1)["inner/m.x"][-1, 0])
    assert found[0] == found[1] > 1.0


@pytest.mark.parametrize(("how", "factor"), [({}, 100.0), ({"suppressUnitConversion": "true"}, 1.0)])
def test_a_connection_between_units_that_only_fmus_define(how, factor, files, tmp_path):
    """f = kc (x1 - x) + cc (v1 - v), with v1 = 0, x = -0.05, v = 1 at the start."""
    text = system(component("m", "mass") + component("c", "coupled"), connection("m.x", "c.x1", **how))
    r = simulate(import_ssp(written(tmp_path / "a.ssp", text, files), sample="1/10"), 0.0, coupling="jacobi")
    assert abs(r["c.f"][0, 0]) == pytest.approx(80.0 * (factor * 0.1 + 0.05) - 1.0, rel=1e-12)


def lag(folder, name, **units):
    """y' = u - y: a lag whose input and output have units of the FMU's own, by attributes of the variable."""

    def change(text):
        defined = "".join(
            f'<Unit name="{n}"><BaseUnit {base}/></Unit>' for n, base in units["defined"].items()
        )
        text = text.replace(
            "<DefaultExperiment", f"<UnitDefinitions>{defined}</UnitDefinitions><DefaultExperiment"
        )
        for port in ("u", "y"):
            text = re.sub(
                rf'(name="{port}".*?<Real)', rf"\1 {units.get(port, '')}", text, count=1, flags=re.S
            )
        return text

    start = {"x": 3.0 if name == "first" else 0.0}
    return build_fmu("lag", folder, change=change, file=f"{name}.fmu", start=start)


def led(path):
    """What the second lag is told in its first step, where the first one has y = 3."""
    r = simulate(import_ssp(path, sample="1/10"), 0.1, coupling="jacobi")
    return r["second.y"][-1, 0] / (1 - math.exp(-0.1))


K, DEGC, DEGF = (
    'K="1"',
    'K="1" offset="273.15"',
    'K="1" factor="0.5555555555555556" offset="255.3722222222222"',
)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"degC": DEGC}, {"K": K}, 276.15),  # 3 degC
        ({"degC": DEGC}, {"degF": DEGF}, 37.4),
        ({"degC": DEGC, "relativeQuantity": "true"}, {"K": K}, 3.0),  # a difference of 3
        ({"degC": DEGC}, {"degF": DEGF, "relativeQuantity": "true"}, 5.4),
        ({"degC": DEGC, "relativeQuantity": "true"}, {"degC": DEGC}, 3.0),
        ({"mile": 'm="1" factor="1609.344"'}, {"mile": 'm="1" factor="1852"'}, 3 * 1609.344 / 1852),
        ({"T": DEGC}, {"T": K}, 276.15),  # one name, two definitions
        ({"deg": 'rad="1" factor="0.0174533"'}, {"deg": 'rad="1" factor="0.017453292519943295"'}, 3.0),
        ({"rad": 'rad="1"'}, {"rad": ""}, 3.0),
    ],
    ids=str,
)
def test_units_of_fmus_count_as_they_define_them(first, second, expected, tmp_path):
    """Of differences no offset does, and the definition of a name rather than the name."""
    files = {}
    for name, port, given in (("first", "y", first), ("second", "u", second)):
        (unit, base), *relative = given.items()
        said = "".join(f' {k}="{v}"' for k, v in relative)
        files[name] = lag(tmp_path, name, defined={unit: base}, **{port: f'unit="{unit}"{said}'})
    text = system(
        component("first", "first") + component("second", "second"), connection("first.y", "second.u")
    )
    assert led(written(tmp_path / "a.ssp", text, files)) == pytest.approx(expected, rel=1e-12)
