"""The sources of exported units in a host of their own: under sanitizers, and on another processor."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fmpy
import pytest

from cosim import export_fmu
from cosim.fmi.export import sources
from tests.helpers.binary_symbols import CROSS
from tests.helpers.exported import DIAGRAMS

HOST = Path(__file__).parents[3] / "data" / "fmi" / "host.c"
FLAGS = ["-std=gnu99", "-ffp-contract=off", "-fno-math-errno", "-fno-builtin-pow"]


def unpacked(name, folder):
    """Sources of a diagram's FMU, and what the host is called with."""
    d = DIAGRAMS[name]()
    loops = d.name == "loops"
    chosen = [n for n in d.system(loops).signals if n not in d.system(loops).inputs][:8]
    solver = {"rates": {"solver": "rk4"}, "relay": {"solver": "dopri5"}}.get(name, {"solver": "rodas4"})
    path = export_fmu(d, folder / "unit.fmu", version="2.0", locals=chosen, solve_loops=loops, **solver)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    description = fmpy.read_model_description(str(path))
    states = [v for v in description.modelVariables if v.name.startswith("der(")]
    shown = [
        v.valueReference for v in description.modelVariables if v.initial == "calculated" and v not in states
    ]
    return [description.guid, len(states), description.numberOfEventIndicators, *shown[:16]]


def objects(command, files, folder):
    """Object files of C files."""
    made = [folder / f"{f.stem}.o" for f in files]

    def compiled(pair):
        done = subprocess.run(
            [*command, *FLAGS, "-c", *pair[0], "-o", pair[1]], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compiled, zip([(f, f"-I{f.parent}") for f in files], made, strict=True)))
    return made


def built(command, folder, fixed=()):
    """The host linked with the sources, those that are the same for all models perhaps compiled before."""
    known = {f.name for f in fixed}
    files = [HOST, *(f for f in sorted((folder / "sources").glob("*.c")) if f"{f.stem}.o" not in known)]
    made = [*objects(command, files, folder), *fixed]
    subprocess.run([*command, "-o", folder / "host", *made, "-lm"], check=True, capture_output=True)
    return folder / "host"


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    """The part of the sources that is the same for all models, with sanitizers."""
    folder = tmp_path_factory.mktemp("fixed")
    unpacked("feedthrough", folder)
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }")
    if subprocess.run(["gcc", *SANITIZED, probe, "-o", folder / "probe"], capture_output=True).returncode:
        pytest.skip("this gcc has no sanitizers")
    names = {f.name for f in sources.fixed("2.0")}
    return objects(["gcc", *SANITIZED], [folder / "sources" / n for n in sorted(names)], folder)


SANITIZED = ["-g", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc with its sanitizers")
@pytest.mark.parametrize("name", ["rates", "relay", "delayed"])
def test_sanitizers_find_nothing(name, tmp_path, fixed):
    """Addresses, leaks, undefined behaviour: with ticks and draws, events, a stiff method with delays."""
    arguments = unpacked(name, tmp_path)
    host = built(["gcc", *SANITIZED], tmp_path, fixed)
    done = subprocess.run([host, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    first, again, after_reset, _ = done.stdout.splitlines()
    assert first == again == after_reset


@CROSS
@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-user")
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs ziglang")
def test_another_processor_gives_the_same_numbers(tmp_path):
    """Sums and products have the same bits on aarch64; only its libm may differ in last digits."""
    arguments = [str(a) for a in unpacked("rates", tmp_path)]
    target = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-O2", "-static"]
    other = subprocess.run(
        ["qemu-aarch64", built(target, tmp_path), *arguments], capture_output=True, text=True
    )
    assert other.returncode == 0, other.stderr
    here = subprocess.run([built(["cc", "-O2"], tmp_path), *arguments], capture_output=True, text=True)
    numbers = [
        [float.fromhex(v) for v in re.findall(r"-?0x[0-9a-f.]+p[+-]\d+", text)]
        for text in (here.stdout, other.stdout)
    ]
    assert len(numbers[0]) == len(numbers[1]) > 10
    assert numbers[1] == pytest.approx(numbers[0], rel=1e-13, abs=1e-15)
