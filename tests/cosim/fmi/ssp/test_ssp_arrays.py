"""Arrays in packages of SSP 2.0: written and read back, values of all types, sizes that contradict them."""

import re
import zipfile

import numpy as np
import pytest

from cosim import Diagram, export_ssp, import_ssp, simulate
from cosim.fmi import FMU
from cosim.fmi.ssp.ssd_reader import read_ssp
from cosim.fmi.ssp.ssp_errors import SSPError
from tests.cosim.fmi.ssp.test_ssp import RING, array_system, ring
from tests.helpers.fmus import build_fmu, needs_compiler
from tests.helpers.ssp_packages import component, system, written

pytestmark = needs_compiler
SIZES = {"n": 2, "m": 2, "r": 2}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    found = {n: build_fmu(n, folder, version="3.0") for n in ("statespace", "lag")}
    return found | {"with space": build_fmu("mass", folder, file="with space.fmu")}


def matrices(files):
    """x' = A x + B u, y = C x + D u with two states and another size than the FMU's own."""
    start = {"A": [[-1, 0.5], [0, -2]], "B": np.eye(2), "C": np.eye(2), "D": np.zeros((2, 2)), "x0": [1, 2]}
    return FMU(files["statespace"], sample="1/10", start=SIZES | start)


def parts(path):
    with zipfile.ZipFile(path) as archive:
        names = ("SystemStructure.ssd", "resources/parameters.ssv")
        return [archive.read(n).decode() for n in names if n in archive.namelist()]


def test_arrays_make_a_round_trip(files, tmp_path):
    d = Diagram("arrays")
    d.add("s", matrices(files))
    d.ground("s.u")
    d.outport("y", "s.y")
    given = {"s.B": [[0.0, 0.0], [0.0, 3.0]]}
    path = export_ssp(d, tmp_path / "a.ssp", parameters=given)
    ssd, ssv = parts(path)
    assert 'version="2.0"' in ssd and re.search(r'name="u" kind="input">\s*<ssc:Float64/>\s*<ssc:Dim', ssd)
    two = r'\s*<ssc:Dimension size="2"/>'
    assert re.search(r'value="-1.0 0.5 0.0 -2.0"/>' + 2 * two, ssv)
    again = import_ssp(path)
    a, b = (simulate(x, 0.5, engine="reference", parameters=p) for x, p in ((d, given), (again, {})))
    decay = np.exp(-2 * 0.5)  # x2' = -2 x2 + 3 u2, and its u is (1, 2) as the FMU tells
    np.testing.assert_allclose(a["s.y"][-1, 1], 2 * decay + 3 * (1 - decay), rtol=1e-6)
    assert a["s.y"].tobytes() == b["s.y"].tobytes() == b["y"].tobytes()
    assert again.system(driven=True).parameters["s.B"].initial[-1] == 3.0
    with pytest.raises(SSPError, match=r"'[\w.]+' is an array, which SSP 1\.0 has no place for.*version"):
        export_ssp(d, tmp_path / "b.ssp", version="1.0")
    with pytest.raises(SSPError, match=r"parameter 's\.B': .*'B' has shape \(2, 2\), got \[1, 2\]"):
        export_ssp(d, tmp_path / "b.ssp", parameters={"s.B": [1, 2]})
    with pytest.raises(SSPError, match="version is '3.0', expected '1.0' or '2.0'"):
        export_ssp(d, tmp_path / "b.ssp", version="3.0")


def test_connections_of_components_make_a_round_trip(files, tmp_path):
    first = written(tmp_path / "ring.ssp", array_system(RING), files, version="2.0")
    second = export_ssp(import_ssp(first, sample=0.1), tmp_path / "again.ssp")
    places = [(c.start, c.start_index, c.end, c.end_index) for c in read_ssp(second).system.connections]
    assert sorted(places) == [(("l", "y"), (), ("s", "u"), (3,)), (("s", "y"), (2,), ("l", "u"), ())]
    r = simulate(import_ssp(second), 1.0, log_every=0.1, engine="reference")
    np.testing.assert_allclose(r["s.y"], ring(10, 0.1), rtol=1e-7)


def test_a_package_without_arrays_in_the_words_of_2_0(files, tmp_path):
    d = Diagram("plain")
    d.add("lag", FMU(files["lag"], sample="1/10", start={"T": 0.5}))
    d.ground("lag.u")
    assert 'version="1.0"' in parts(export_ssp(d, tmp_path / "a.ssp"))[0]
    ssd, ssv = parts(export_ssp(d, tmp_path / "b.ssp", version="2.0"))
    assert '<ssv:Float64 value="0.5"' in ssv and "<ssc:Float64" in ssd and "Real" not in ssd + ssv
    assert import_ssp(tmp_path / "b.ssp").system(driven=True).parameters["lag.T"].initial == 0.5


def values(content):
    return (
        '<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="2.0" '
        f'name="v"><ssv:Parameters><ssv:Parameter name="k">{content}</ssv:Parameter></ssv:Parameters>'
        "</ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('<ssv:Float64 value=" 1 2.5\t-3 "/>', (1, 2.5, -3)),
        ('<ssv:Boolean value="true 0 false"/>', (True, False, False)),
        ('<ssv:String><!-- two --><ssv:Value value="a b"/><ssv:Value value=""/></ssv:String>', ("a b", "")),
        ('<ssv:String value="a b"/>', "a b"),
        ('<ssv:Binary><ssv:Value value="00ff"/><ssv:Value value=""/></ssv:Binary>', (b"\0\xff", b"")),
        ('<ssv:UInt64 value="18446744073709551615"/><ssc:Dimension size="3"/>', 2**64 - 1),
        ('<ssv:Float64 value="1 2"/><ssc:Dimension size="3"/>', "has 2 values, its dimensions say 3"),
        ('<ssv:Float64 value="1 2"/><ssc:Dimension size="two"/>', "has the dimensions two, expected"),
        ('<ssv:Boolean value="true maybe"/>', "is 'true maybe', which is no Boolean"),
        ("<ssv:Float64/>", "'k' has no value"),
        ('<ssv:String value="a"><ssv:Value value="b"/></ssv:String>', "has its value twice"),
    ],
)  # fmt: skip
def test_values_of_2_0(content, expected, files, tmp_path):
    text = system(component("m", "with%20space", values(content)))
    path = written(tmp_path / "v.ssp", text, files, version="2.0")
    if isinstance(expected, str) and " " in expected and expected != "a b":
        with pytest.raises(SSPError, match=rf"ssd:\d+: .*{expected}"):
            read_ssp(path)
        return
    (found,) = read_ssp(path).system.components[0].values
    assert found.value == expected
