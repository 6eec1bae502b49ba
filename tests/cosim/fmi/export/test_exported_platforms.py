"""Binaries for every platform: the right machine, every function of the standard and no other."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import fmpy
import pytest
from fmpy.fmi3 import fmi3IntermediateUpdateCallback, fmi3LogMessageCallback

from cosim import export_fmu
from cosim.fmi.export.binaries import PLATFORMS
from tests.helpers.binary_symbols import CROSS, read
from tests.helpers.compilers import users_compiler
from tests.helpers.exported import first, pendulum
from tests.helpers.opened_fmu import Opened

NUMBERS = {"2.0": 44, "3.0": 75}
SYSTEM = ("libm.so", "libc.so", "KERNEL32.dll", "api-ms-win-crt", "libSystem", "ld-linux")
LINKER = ("_init", "_fini", "_DllMainCRTStartup", "__dso_handle", "_mh_dylib_header")


def checked(content, machine, version):
    found = read(content)
    own = {n for n in found.shown if n.startswith(f"fmi{version[0]}")}
    assert found.machine == machine
    assert len(own) == NUMBERS[version]
    assert not {n for n in found.shown - own if n not in LINKER}
    assert not [n for n in found.needed if not any(known.lower() in n.lower() for known in SYSTEM)]


@CROSS
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_all_platforms_at_once(version, tmp_path):
    path = export_fmu(pendulum(), tmp_path / "loop.fmu", version=version, platforms=list(PLATFORMS))
    with zipfile.ZipFile(path) as archive:
        found = {n.split("/")[1]: archive.read(n) for n in archive.namelist() if n.startswith("binaries/")}
    for p in PLATFORMS.values():
        checked(found.pop(p.folder_2 if version == "2.0" else p.folder_3), p.folder_3.split("-")[0], version)
    assert not found


LOAD = Path(__file__).parents[3] / "data" / "fmi" / "load.c"
ARM = Path(
    "/usr/aarch64-linux-gnu"
)  # the C library of another processor, as Debian's cross compilers have it
WINE = shutil.which("wine64") or shutil.which("wine") or shutil.which("/usr/lib/wine/wine64")
ELSEWHERE = {
    "win64": ("x86_64-windows-gnu", ".dll", [WINE], WINE is not None),
    "aarch64-linux": (
        "aarch64-linux-gnu.2.36", ".so", ["qemu-aarch64", "-L", str(ARM)],
        ARM.is_dir() and shutil.which("qemu-aarch64") is not None,
    ),
}  # fmt: skip


@CROSS
@pytest.mark.timeout(1800)  # a C library is compiled for a platform that is new
@pytest.mark.parametrize("platform", ELSEWHERE)
def test_binaries_run_where_they_are_for(platform, tmp_path):
    """The pendulum with its controller after 1 s: the numbers of this machine's binary, to 1e-13."""
    target, suffix, runner, is_there = ELSEWHERE[platform]
    if not is_there:
        pytest.skip(f"needs what runs programs of {platform}: wine64, or qemu-aarch64 and its C library")
    unit = export_fmu(
        pendulum(), tmp_path / "loop.fmu", version="2.0", platforms=["linux64", platform], step=1e-3,
        initial={"plant.hinge.q": -0.1},
    )  # fmt: skip
    with zipfile.ZipFile(unit) as archive:
        archive.extractall(tmp_path)
    d = fmpy.read_model_description(str(unit))
    outputs = [str(v.valueReference) for v in d.modelVariables if v.causality == "output"]
    found = []
    for where, command, ending, runs in (
        ("linux64", ["cc"], ".so", []),
        (platform, [sys.executable, "-m", "ziglang", "cc", "-target", target], suffix, runner),
    ):
        host = tmp_path / f"host_{where}.exe"
        subprocess.run(
            [*command, "-O1", "-o", host, LOAD, *(["-ldl"] if ending == ".so" else [])], check=True
        )
        (binary,) = (tmp_path / "binaries" / where).glob(f"*{ending}")
        done = subprocess.run(
            [*runs, host, binary, d.guid, *outputs], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        found.append([float(x) for x in done.stdout.split()])
    assert len(found[0]) == len(outputs) and found[1] == pytest.approx(found[0], rel=1e-13, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_this_machine(version, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", users_compiler())
    path = export_fmu(first(), tmp_path / "first.fmu", version=version)
    with zipfile.ZipFile(path) as archive:
        (name,) = [n for n in archive.namelist() if n.startswith("binaries/")]
        checked(archive.read(name), "aarch64" if "aarch64" in name else "x86_64", version)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_ten_thousand_instances_leave_nothing_behind(version, tmp_path):
    path = export_fmu(first(), tmp_path / "first.fmu", version=version)

    def cycles(m, n):
        for _ in range(n):
            if version == "2.0":
                c = m.unit.fmi2Instantiate(b"x", 1, m.description.guid.encode(), b"", None, 0, 0)
                m.unit.fmi2FreeInstance(c)
            else:
                token = m.description.instantiationToken.encode()
                c = m.unit.fmi3InstantiateCoSimulation(
                    b"x",
                    token,
                    b"",
                    False,
                    False,
                    False,
                    False,
                    None,
                    0,
                    None,
                    fmi3LogMessageCallback(),
                    fmi3IntermediateUpdateCallback(),
                )
                m.unit.fmi3FreeInstance(c)
            assert c

    with Opened(path) as m:
        cycles(m, 500)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        cycles(m, 10_000)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000  # kB
