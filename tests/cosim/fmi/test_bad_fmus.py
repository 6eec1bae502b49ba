"""Files that are no FMUs, unsafe or invalid ones, FMUs asked for what they have not: one clear error each."""

from __future__ import annotations

import errno
import math
import re
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from blocks.errors import WiringError
from cosim import FMU, Diagram, simulate
from cosim.cli.fmu_commands import sections
from cosim.fmi import package
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from tests.helpers.fmus import build_fmu

Change = Callable[[str], str]


def put(old: str, new: str, count: int = 1) -> Change:
    """A change of the description."""

    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, count)

    return change


def archive(path: Path, entries: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return path


# --- files ------------------------------------------------------------------------------------------------
def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FMUError, match=r"none\.fmu' is not there"):
        FMU(tmp_path / "none.fmu")
    with pytest.raises(FMUError, match="is a folder"):
        FMU(tmp_path)
    with pytest.raises(FMUError, match="is not there"):
        FMU("a" * 5000)
    for path in ("", None, 3):
        with pytest.raises(FMUError, match=r"expected the name of an \.fmu file"):
            FMU(path)  # type: ignore[arg-type]


def test_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "text.fmu"
    path.write_text("this is no zip file")
    with pytest.raises(FMUError, match=r"no FMU, or a damaged one"):
        FMU(path)


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_truncated(tmp_path: Path, keep: float) -> None:
    whole = build_fmu("lag").read_bytes()
    path = tmp_path / "short.fmu"
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(FMUError, match=r"damaged"):
        FMU(path)


def test_a_damaged_entry(tmp_path: Path) -> None:
    built = build_fmu("lag")
    with zipfile.ZipFile(built) as file:
        info = next(i for i in file.infolist() if i.filename.startswith("binaries"))
    data = bytearray(built.read_bytes())
    place = info.header_offset + 200
    data[place : place + 50] = bytes(50)
    path = tmp_path / "damaged.fmu"
    path.write_bytes(data)
    with pytest.raises(FMUError, match="damaged"):
        FMU(path).open()


@pytest.mark.parametrize(
    "name", ["../out.txt", "/etc/out.txt", "a/../../out.txt", "C:/out.txt", "..\\out.txt"]
)
def test_names_that_lead_out(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / "out.fmu", {"modelDescription.xml": b"<a/>", name: b"x"})
    with pytest.raises(FMUError, match="leads out of the folder"):
        FMU(path)


def test_links_and_doubles(tmp_path: Path) -> None:
    path = tmp_path / "link.fmu"
    link = zipfile.ZipInfo("resources/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", "<a/>")
        file.writestr(link, "/etc/passwd")
    with pytest.raises(FMUError, match="is a link"):
        FMU(path)
    with zipfile.ZipFile(path, "w") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("modelDescription.xml", "<a/>")
        file.writestr("modelDescription.xml", "<b/>")
    with pytest.raises(FMUError, match="twice"):
        FMU(path)


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["resources/a", "resources/a/b"], "'resources/a' is a file, and a folder"),
        (["resources/a/b", "resources/a"], "'resources/a' is a file, and a folder"),
        (["modelDescription.xml/x"], r"'modelDescription\.xml' is a file, and a folder"),
        (["."], "a name that no file can have"),
        (["resources/" + "a" * 300], "a name that no file can have"),
        (["resources/" + "a" * 300 + "/"], "a name that no file can have"),
        (["resources/a", "resources/a/"], "'resources/a/' is there twice"),
        (["resources/a/", "resources/a"], "'resources/a' is a file, and a folder"),
        (["resources/" + "/".join(["a" * 200] * 20)], "a name that no file can have"),
    ],
)
def test_names_that_no_folder_can_hold(tmp_path: Path, names: list[str], match: str) -> None:
    path = archive(tmp_path / "x.fmu", {"modelDescription.xml": b"<a/>", **dict.fromkeys(names, b"x")})
    with pytest.raises(FMUError, match=match):
        FMU(path)


def test_no_room_to_unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fmu = FMU(build_fmu("lag"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(FMUError, match=r"cannot be unpacked to '.*none': No such file.*\$TMPDIR"):
        fmu.open()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "mkdir", _full)
    with pytest.raises(FMUError, match=r"cannot be unpacked to '.*fmu-.*': No space left on device"):
        fmu.open()
    assert not list(tmp_path.iterdir())


def _full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_size_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = build_fmu("lag")
    monkeypatch.setattr(package, "MOST_BYTES", 1000)
    with pytest.raises(FMUError, match="unpacks to more than"):
        FMU(built)
    monkeypatch.undo()
    fmu = FMU(built)
    monkeypatch.setattr(package, "MOST_BYTES", 1000)  # as if the archive had said less than it holds
    with pytest.raises(FMUError, match="unpacks to more than"):
        fmu.open()
    monkeypatch.undo()
    monkeypatch.setattr(package, "MOST_ENTRIES", 1)
    with pytest.raises(FMUError, match="entries"):
        FMU(built)


def test_no_description(tmp_path: Path) -> None:
    with pytest.raises(FMUError, match=r"no modelDescription\.xml in it"):
        FMU(archive(tmp_path / "a.fmu", {"readme.txt": b""}))
    with pytest.raises(FMUError, match="a folder was packed too much"):
        FMU(archive(tmp_path / "b.fmu", {"motor/modelDescription.xml": b"<a/>"}))


def test_binaries_of_other_platforms(tmp_path: Path) -> None:
    with zipfile.ZipFile(build_fmu("lag")) as file:
        xml = file.read("modelDescription.xml")
    other = {"modelDescription.xml": xml, "binaries/ppc64-beos/lag.so": b"x"}
    with pytest.raises(FMUError, match=r"no binary for this platform.*it has binaries for ppc64-beos"):
        FMU(archive(tmp_path / "a.fmu", other))
    with pytest.raises(FMUError, match=r"it has no binaries.*It has sources"):
        FMU(archive(tmp_path / "b.fmu", {"modelDescription.xml": xml, "sources/all.c": b""}))
    folder = package.here()[0][-1]
    with pytest.raises(
        FMUError, match=r"no binary 'lag\.\w+' for .* should be the name of one of these.*lug"
    ):
        FMU(archive(tmp_path / "c.fmu", {"modelDescription.xml": xml, f"binaries/{folder}/lug.so": b"x"}))
    name = f"binaries/{folder}/lag{package.here()[1]}"
    folder_before = Path.cwd()
    bad = archive(tmp_path / "d.fmu", {"modelDescription.xml": xml, name: b"no library"})
    with pytest.raises(FMUError, match="cannot be loaded"):
        FMU(bad).open()
    with pytest.raises(FMUError, match=r"d\.fmu': FMPy cannot load its binary.*a library that is not inst"):
        FMU(bad, importer="fmpy").open()
    assert Path.cwd() == folder_before


# --- descriptions -----------------------------------------------------------------------------------------
BAD = {
    "not well-formed": (put("<ModelVariables>", "<ModelVariables"), r"not well-formed: .*line \d+"),
    "a doctype": (
        put("<fmiModelDescription", "<!DOCTYPE a [<!ENTITY b 'c'>]><fmiModelDescription"),
        "DOCTYPE",
    ),
    "a line before it": (lambda t: "\n" + t, r"not well-formed: XML declaration .*line 2"),
    "another root": (put("fmiModelDescription", "modelDescription", 9), "begins with <modelDescription>"),
    "no version": (put('fmiVersion="2.0"', ""), "no fmiVersion"),
    "version 1.0": (put('fmiVersion="2.0"', 'fmiVersion="1.0"'), "FMI version 1.0"),
    "no guid": (put('guid="{lag-1.0}"', ""), r"'guid' is required.*|line \d+"),
    "no identifier": (put('modelIdentifier="lag"', "", 2), "modelIdentifier"),
    "an unknown type": (put('<Real start="0.0"/>', "<Complex/>"), r"line \d+.*'Complex'"),
    "an unknown list of the structure": (put("<ModelStructure>", "<ModelStructure><States/>"), r"line \d+"),
    "two default experiments": (
        put("<DefaultExperiment", '<DefaultExperiment stopTime="2"/><DefaultExperiment'),
        r"'DefaultExperiment': This element is not expected",
    ),
    "an empty list, and a name twice": (
        lambda t: put('name="u"', 'name="x"')(
            put("<DefaultExperiment", "<LogCategories/><DefaultExperiment")(t)
        ),
        r"\"x\" \(line \d+\) is not unique",
    ),
    "a name twice": (put('name="u"', 'name="x"'), r"\"x\" \(line \d+\) is not unique"),
    "start that is no number": (put('start="1.0"', 'start="one"'), r"line \d+"),
    "no reference": (put('valueReference="13"', ""), r"line \d+"),
    "derivative of nothing": (put('derivative="3"', 'derivative="99"'), r"line \d+.*99"),
    "output index": (
        put('<Unknown index="5"', '<Unknown index="77"'),
        r"\(line \d+\) has index 77, .* 1 to 6",
    ),
    "a dependency on nothing": (put('dependencies="', 'dependencies="0 '), r"line \d+\) has dependencies 0"),
    "its own derivative": (
        put('derivative="3"', 'derivative="4"'),
        r"line \d+\) is the derivative of itself",
    ),
    "derivative of a truth value": (
        put('initial="exact"><Real start="0.0"/>', 'initial="exact"><Boolean start="false"/>'),
        r"'der_x' \(line \d+\) is the derivative of 'x', which is of type Boolean",
    ),
    "no kind": (
        lambda t: "\n".join(x for x in t.splitlines() if not x.startswith(("<ModelExch", "<CoSim"))),
        "neither <CoSimulation>",
    ),
    "a type that is not there": (
        put('<Real start="1.0"', '<Real declaredType="Torque" start="1.0"'),
        r"Torque.*not been defined",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_descriptions(what: str) -> None:
    change, said = BAD[what]
    path = build_fmu("lag", change=change)
    with pytest.raises(FMUError, match=rf"(?s){said}") as caught:
        FMU(path)
    assert str(path) in str(caught.value)


def test_what_does_not_matter_for_running_is_a_warning() -> None:
    path = build_fmu("lag", change=put('<Real start="0.0"/>', "<Real/>"))  # of the input
    with pytest.warns(UserWarning, match=r"not quite valid.*line \d+.*no start value"):
        FMU(path)


TOLERATED = {
    "an attribute of a maker": (
        put("<ModelVariables>", '<ModelVariables a="b">'),
        "attribute 'a' is not allowed",
    ),
    "an element of a maker": (put("<ModelVariables>", "<Dance><step/></Dance><ModelVariables>"), "'Dance'"),
    "an empty list": (
        put("<DefaultExperiment", "<LogCategories/><DefaultExperiment"),
        "'LogCategories': Missing",
    ),
    "another order": (
        lambda t: re.sub(
            r"(<DefaultExperiment.*?/>)(.*)(<ModelVariables>)", r"\2\1\3", t, flags=re.DOTALL
        ).replace(
            "<ModelVariables>", "<LogCategories/><UnitDefinitions/><TypeDefinitions/>\n<ModelVariables>"
        ),
        "This element is not expected",
    ),
    "a capability": (
        put("<CoSimulation ", '<CoSimulation canDance="true" '),
        "'canDance' is not allowed",
    ),  # allowed in 3.0
}


@pytest.mark.parametrize(
    ("what", "version"),
    [(what, version) for what in TOLERATED for version in ("2.0", "3.0")][:-1],
)
def test_what_the_schema_does_not_know_is_left_out(what: str, version: str) -> None:
    """Extensions of a maker, empty lists and another order are warnings: the FMU says the same without."""
    change, said = TOLERATED[what]
    path = build_fmu("lag", version=version, change=change)
    with pytest.warns(UserWarning, match=rf"(?s)not quite valid: ERROR \(line \d+.*{said}"):
        found = FMU(path, kind="cs").description
    plain = FMU(build_fmu("lag", version=version), kind="cs").description
    assert [v.name for v in found.variables.values()] == [v.name for v in plain.variables.values()]
    assert (found.experiment, found.outputs, found.cs) == (plain.experiment, plain.outputs, plain.cs)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({'stepSize="0.01"': 'stepSize="0"'}, "the step size of its default experiment is 0 s"),
        ({'startTime="0"': 'startTime="5"'}, "ends at 1 s, before it begins at 5 s"),
        (
            {'start="1.0"/>': 'start="1.0" min="2" max="3"/>'},
            r"'T' \(line \d+\) starts with 1, below its min 2",
        ),
        ({'start="1.0"/>': 'start="1.0" max="0"/>'}, r"starts with 1, above its max 0"),
        ({'start="1.0"/>': 'start="NaN"/>'}, "has a start value that is no number"),
        ({'start="1.0"/>': 'start="1" min="2" max="1"/>'}, "has min 2 above max 1"),
        ({'name="T"': 'name=" "'}, r"the variable in line \d+ has an empty name"),
        (
            {' dependencies="3"': ' dependencies="3" dependenciesKind="fixed tunable"'},
            r"Unknown \(line \d+\) has 2 dependenciesKind for 1 dependencies",
        ),
    ],
)
def test_what_contradicts_itself_is_a_warning(changes: dict[str, str], said: str) -> None:
    def change(text: str) -> str:
        for old, new in changes.items():
            text = put(old, new)(text)
        return text

    with pytest.warns(UserWarning, match=f"not quite valid: .*{said}"):
        FMU(build_fmu("lag", change=change), sample=0.1)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_structure_without_derivatives_is_a_warning(version: str) -> None:
    """By the standard it has no states then, so that model exchange would run without any."""
    change = lambda text: re.sub("<Derivatives>.*</Derivatives>|<ContinuousStateDerivative.*?/>", "", text)
    path = build_fmu("lag", version=version, change=change)
    with pytest.warns(UserWarning, match=r"'der_x' \(line \d+\) is the derivative of 'x', but the structure"):
        FMU(path, kind="me")


def test_a_start_that_is_no_item_is_a_warning() -> None:
    change = put('declaredType="Option" start="1"', 'declaredType="Option" start="7"')
    with pytest.warns(UserWarning, match=r"has start=7, which is none of 1 \(one\), 2 \(two\)"):
        FMU(build_fmu("feedthrough", change=change), sample=0.1)


@pytest.mark.parametrize(("version", "what"), [("2.0", "value"), ("3.0", "value"), ("3.0", "name")])
def test_items_that_are_alike_are_a_warning(version: str, what: str) -> None:
    old, new, last = {
        "value": ('value="2"', 'value="1"', {1: "two"}),
        "name": ('name="two"', 'name="one"', {1: "one", 2: "one"}),
    }[what]
    said = rf"enumeration 'Option' \(line \d+\) has several items of {what} (1|one); the last one counts"
    with pytest.warns(UserWarning, match=said):
        fmu = FMU(build_fmu("feedthrough", version=version, change=put(old, new)), sample=0.1)
    assert fmu.description.variables["Enumeration_input"].items == last


def test_version_2_0_4_is_2_0() -> None:
    FMU(build_fmu("lag", change=put('fmiVersion="2.0"', 'fmiVersion="2.0.4"')), sample=0.1)


def test_array_sizes() -> None:
    path = build_fmu("statespace", version="3.0", change=put("<Dimension valueReference", "<Dimension start"))
    with pytest.raises(FMUError, match=r"line \d+"):
        FMU(path)
    path = build_fmu("statespace", version="3.0")
    with pytest.raises(FMUError, match=r"'A' has shape \(2, 2\)"):
        FMU(path, start={"n": 2, "A": [1.0, 2.0, 3.0]})
    with pytest.raises(FMUError, match="'n' is of type UInt64"):
        FMU(path, start={"n": -1})
    for many in (2**32, 2**64 - 1):
        with pytest.raises(
            FMUError, match=rf"'A' is an array of {many**2} numbers, by 'n'; at most 268435456 are"
        ):
            FMU(path, start={"n": many})

    def large(text: str) -> str:
        text = re.sub(r' start="[^"]* [^"]*"', ' start="0"', text)
        return re.sub("<Dimension[^>]*>", '<Dimension start="1000000"/>', text)

    with pytest.raises(FMUError, match="is an array of 1000000000000 numbers; at most"):
        FMU(build_fmu("statespace", version="3.0", change=large))


# --- what is asked of it ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "cs"}, r"asked for co-simulation.*'me' \(model exchange\) only"),
        ({"kind": "dcp"}, "kind='dcp', expected 'cs'"),
        ({"start": {"t": 1.0}}, r"no variable 't'; did you mean 'T'"),
        ({"start": {"y": 1.0}}, "start of 'y': it is an output"),
        ({"start": {"T": "long"}}, "'T' is of type Float64 and takes a number"),
        ({"start": 3}, "start is 3, expected values by name"),
        ({"outputs": ["z"]}, "no variable 'z'"),
        ({"outputs": ["u"]}, "outputs has 'u', which is an input"),
        ({"outputs": 3}, "outputs is 3"),
        ({"importer": "mine"}, "importer is 'mine', expected 'native'"),
        ({"timeout": -1}, "timeout is -1"),
        ({"isolate": 1}, "isolate is 1"),
    ],
)
def test_what_it_has_not(given: dict[str, object], said: str) -> None:
    path = build_fmu("lag", kinds=("me",) if "kind" in given else ("cs",))
    with pytest.raises(FMUError, match=said):
        FMU(path, **given)  # type: ignore[arg-type]


def test_no_sample() -> None:
    fmu = FMU(build_fmu("lag", change=put('stepSize="0.01"', "")))
    d = Diagram("d")
    d.add("lag", fmu)
    d.ground("lag.u")
    with pytest.raises(WiringError, match="block 'lag': FMU .*no communication step"):
        d.system()
    with pytest.raises(FMUError, match="no communication step"):
        simulate(d, until=1.0, coupling="gauss-seidel")
    with fmu.open() as m:  # by hand every step says how long it is
        m.initialize()
        m.set("u", 1.0)
        m.step(0.5)
        assert m.get("y") == pytest.approx(1.0 - math.exp(-0.5), rel=1e-12)


def test_scheduled_execution_only() -> None:
    def change(text: str) -> str:
        return text.replace("<CoSimulation", "<ScheduledExecution").replace(
            ' canHandleVariableCommunicationStepSize="true"', ""
        )

    path = build_fmu("lag", version="3.0", kinds=("cs",), interpolates=False, change=change)
    with pytest.raises(FMUError, match="it is for scheduled execution but has no input clock"):
        FMU(path)


def test_a_wrong_guid() -> None:
    path = build_fmu("lag", change=put("{lag-1.0}", "{lag-2.0}"))
    with pytest.raises(FMUError, match="could not be instantiated"):
        FMU(path).open()


@pytest.mark.parametrize("isolate", [False, True])
def test_the_first_one_is_not_one_too_many(isolate: bool) -> None:
    """`canBeInstantiatedOnlyOncePerProcess` is no reason for the first instance, nor for an isolated one."""
    once = ("<CoSimulation ", '<CoSimulation canBeInstantiatedOnlyOncePerProcess="true" ')
    change = lambda text: put(*once)(put("{lag-1.0}", "{lag-2.0}")(text))
    path = build_fmu("lag", kinds=("cs",), change=change)
    with pytest.raises(FMUError, match=r"(?s)could not be instantiated.*\nA wrong guid") as found:
        FMU(path, isolate=isolate).open()
    assert "isolate" not in str(found.value)


def test_a_binary_of_another_version(tmp_path: Path) -> None:
    two, three = build_fmu("lag", version="2.0"), build_fmu("lag", version="3.0")
    entries = {}
    with zipfile.ZipFile(two) as file:
        entries["modelDescription.xml"] = file.read("modelDescription.xml")
        target = next(n for n in file.namelist() if n.startswith("binaries"))
    with zipfile.ZipFile(three) as file:
        entries[target] = file.read(next(n for n in file.namelist() if n.startswith("binaries")))
    with pytest.raises(FMUError, match="no function fmi2"):
        FMU(archive(tmp_path / "mixed.fmu", entries)).open()


def test_ports_with_near_misses() -> None:
    d = Diagram("d")
    d.add("lag", FMU(build_fmu("lag"), sample=0.1))
    d.connect("lag.Y", "lag.u")
    with pytest.raises(Exception, match="did you mean 'y'"):
        d.system()


def test_an_fmu_that_needs_its_tool(tmp_path: Path) -> None:
    """It is said where somebody looks at it, and where it cannot be instantiated."""
    needy = lambda text: text.replace("<CoSimulation", '<CoSimulation needsExecutionTool="true"').replace(
        "{lag-1.0}", "{other}"
    )
    path = build_fmu("lag", tmp_path, change=needy)
    assert "tests of plantloop, installed (needsExecutionTool)" in dict(sections(path))["needs"]
    with pytest.raises(FMUCallError, match="needs the tool that made it"):
        FMU(path, kind="cs", sample=0.1).open()
