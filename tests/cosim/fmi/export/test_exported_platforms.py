"""Binaries for every platform: the right machine, every function of the standard and no other."""

from __future__ import annotations

import resource
import zipfile

import pytest
from fmpy.fmi3 import fmi3IntermediateUpdateCallback, fmi3LogMessageCallback

from cosim import export_fmu
from cosim.fmi.export.binaries import PLATFORMS
from tests.helpers.binary_symbols import CROSS, read
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


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_this_machine(version, tmp_path):
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
