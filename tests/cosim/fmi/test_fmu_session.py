"""FMUs opened and stepped by hand: values of all types, order of calls, states, printf of the logger."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from blocks.errors import PlantloopError
from cosim import FMU
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.interface.log_lines import formatted
from tests.helpers.fmus import build_fmu

VERSIONS = ("2.0", "3.0")


@pytest.mark.parametrize("version", VERSIONS)
def test_step_by_hand(version: str) -> None:
    with FMU(build_fmu("lag", version=version), kind="cs").open() as m:
        m.set("T", 0.5)
        m.initialize(start_time=0.0, tolerance=1e-6)
        m.set("u", 1.0)
        assert m.step(0.25) == 0.25 == m.time
        assert m.get("y") == pytest.approx(1 - math.exp(-0.5), abs=1e-14)
        state = m.save()
        m.step(0.25)
        later = m.get("y")
        m.load(state)
        assert m.time == 0.25
        m.step(0.25)
        assert m.get("y") == later
        m.reset()
        m.initialize()
        m.set("u", 1.0)
        m.step(0.25)
        assert m.get("y") == pytest.approx(1 - math.exp(-0.25), abs=1e-14)  # T is as it was at first


def test_values_of_all_types() -> None:
    values = {
        "Int64": -(2**63), "UInt64": 2**64 - 1, "Int8": -128, "UInt8": 255, "Int16": -(2**15),
        "UInt16": 2**16 - 1,
        "Int32": -(2**31), "UInt32": 2**32 - 1, "Float64": math.pi, "Float32": 0.5, "Boolean": True,
        "String": "Grüße", "Binary": b"\x00\xff\x00", "Enumeration": 2,
    }  # fmt: skip
    with FMU(build_fmu("feedthrough", version="3.0"), kind="cs").open() as m:
        m.initialize()
        for kind, value in values.items():
            m.set(f"{kind}_input", value)
        m.step(0.1)
        for kind, value in values.items():
            found = m.get(f"{kind}_output")
            assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Int8_input", 128), ("UInt64_input", -1), ("UInt64_input", 2**64), ("Int32_input", 1.5),
        ("Boolean_input", 2), ("String_input", 3), ("Binary_input", "ab"), ("Float64_input", "1"),
        ("Float64_input", True), ("Float64_input", None), ("Enumeration_input", "three"),
        ("Enumeration_input", 7), ("Float64_input", math.nan),
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused(name: str, value: object) -> None:
    with FMU(build_fmu("feedthrough", version="3.0"), kind="cs").open() as m:
        m.initialize()
        with pytest.raises(FMUError, match=name):
            m.set(name, value)
        assert not math.isnan(m.get("Float64_output"))


def test_start_values_that_are_no_numbers() -> None:
    start = {"String_input": "hello", "Int64_input": 2**63 - 1}
    with FMU(build_fmu("feedthrough", version="3.0"), start=start).open() as m:
        m.initialize()
        m.step(0.1)
        assert (m.get("String_output"), m.get("Int64_output")) == ("hello", 2**63 - 1)


def test_structural_parameters_by_hand() -> None:
    with FMU(build_fmu("statespace", version="3.0"), kind="cs").open() as m:
        m.set("n", 2)
        m.set("m", 1)
        m.set("A", [[0.0, 1.0], [-1.0, 0.0]])
        with pytest.raises(FMUError, match=r"'B' has shape \(2, 1\)"):
            m.set("B", [[1.0, 0.0]])
        m.initialize()
        assert m.get("A").tolist() == [[0.0, 1.0], [-1.0, 0.0]]


def test_sizes_change_in_a_run_where_the_fmu_lets_them(tmp_path: Path) -> None:
    """In reconfiguration mode; a reset brings back those it was opened with."""

    def change(text: str) -> str:
        return re.sub(r'(name="n"[^>]*variability=)"fixed"', r'\1"tunable"', text)

    path = build_fmu("statespace", version="3.0", change=change)
    with FMU(path, kind="cs", start={"n": 2}).open() as m:
        m.initialize()
        m.step(0.1)
        assert m.get("x").shape == (2,)
        m.set("n", 3)
        assert m.get("x").shape == (3,) and m.step(0.1) == pytest.approx(0.2)
        m.reset()
        assert m.get("n") == 2 and m.description.variables["x"].shape == (2,)
    with FMU(path, kind="me").open() as m:
        m.initialize()
        with pytest.raises(FMUError, match="which is done in co-simulation without event mode"):
            m.set("n", 2)


def test_the_order_of_calls() -> None:
    with FMU(build_fmu("lag"), kind="cs").open() as m:
        with pytest.raises(FMUError, match="step before initialize"):
            m.step(0.1)
        with pytest.raises(FMUError, match="before initialize"):
            m.get("y")
        with pytest.raises(FMUError, match="start of 'y'"):
            m.set("y", 1.0)
        m.initialize()
        with pytest.raises(FMUError, match="initialised already"):
            m.initialize()
        with pytest.raises(FMUError, match="cannot be set after initialize"):
            m.set("x", 1.0)
        with pytest.raises(FMUError, match="did you mean 'u'"):
            m.set("U", 1.0)
        with pytest.raises(FMUError, match="size of a step"):
            m.step(-0.1)
        m.terminate()
        with pytest.raises(FMUError, match="ended the run"):
            m.step(0.1)
    with pytest.raises(FMUError, match="closed"):
        m.get("u")
    with FMU(build_fmu("lag", rollback=False)).open() as m, pytest.raises(FMUError, match="cannot save"):
        m.save()


@pytest.mark.parametrize("version", VERSIONS)
def test_folders_with_blanks_and_letters_of_any_alphabet(version: str, tmp_path: Path) -> None:
    path = build_fmu("resource", tmp_path / "a folder, größer 數", version=version, file="my unit.fmu")
    with FMU(path).open() as m:
        m.initialize()
        assert m.get("y") == ord("a")


CYCLES = """
import gc, os, sys, tempfile
from pathlib import Path
import psutil
from cosim import FMU
tempfile.tempdir = sys.argv[2]
process = psutil.Process()
opened = process.num_fds if hasattr(process, "num_fds") else process.num_handles
for k in range(151):
    with FMU(sys.argv[1]).open() as m:
        m.initialize()
        m.step(0.01)
    del m
    if k == 50:
        gc.collect()
        before, descriptors = process.memory_info().rss, opened()
gc.collect()
print(process.memory_info().rss - before, opened() - descriptors, len(os.listdir(sys.argv[2])))
"""  # nothing else runs in that process: what others open and close does not count


@pytest.mark.slow
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CYCLES, str(build_fmu("lag")), str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    memory, descriptors, files = map(int, said.split())
    assert memory < 1e6
    assert (descriptors, files) == (0, 0)


def test_what_printf_makes_of_a_message() -> None:
    text = "%d of %5.2f and %g%%, %#x, %ld, %s"
    assert (
        formatted(text, (-3, 255, 2**40, 0), (1.5, 1e-9))
        == "-3 of  1.50 and 1e-09%, 0xff, 1099511627776, (null)"
    )
    assert formatted("%d %d %*d", (1,), ()) == "1 %d %*d"  # what is not there stays


def test_errors_are_ours() -> None:
    assert issubclass(FMUError, PlantloopError)


@pytest.mark.parametrize("version", VERSIONS)
def test_model_exchange_by_hand(version: str) -> None:
    with FMU(build_fmu("dahlquist", version=version), kind="me").open() as m:
        m.initialize()
        m.step(1.0)
        assert m.get("x") == pytest.approx(math.exp(-1), abs=1e-8)
        m.set("k", 2.0)  # at an event of its own
        m.step(1.0)
        assert m.get("x") == pytest.approx(math.exp(-3), abs=1e-8)
    with FMU(build_fmu("ball", version=version), kind="me").open() as m:
        m.initialize()
        m.step(0.5)
        assert m.get("bounces") == 1
        state = m.save()
        m.step(1.0)
        h = m.get("h")
        m.load(state)
        m.step(1.0)
        assert m.get("h") == h
    with FMU(build_fmu("stair", version=version), kind="me").open() as m:
        m.initialize()
        assert (m.step(3.5), m.get("counter")) == (3.5, 4)
        assert (m.step(20.0), m.terminated, m.get("counter")) == (9.0, True, 10)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_steps_that_come_to_an_event_but_for_rounding(version: str) -> None:
    """Ten steps of 0.1 s end at 0.9999999999999999 s: the event of 1 s is there."""
    with FMU(build_fmu("stair", version=version), kind="me").open() as m:
        m.initialize()
        found = []
        for _ in range(3):
            for _ in range(10):
                m.step(0.1)
            found.append(m.get("counter"))
        assert found == [2, 3, 4]
