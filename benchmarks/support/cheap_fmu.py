"""An FMU that costs next to nothing (cheap_unit.c), and what its calls cost from C."""

from __future__ import annotations

import atexit
import platform
import shutil
import subprocess
import tempfile
import zipfile
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("cheap_unit.c")
FOLDERS = {"Windows": "win64", "Darwin": "darwin64"}
SUFFIXES = {"Windows": ".dll", "Darwin": ".dylib"}
DESCRIPTION = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="cheap" guid="cheap">
<CoSimulation modelIdentifier="cheap" canHandleVariableCommunicationStepSize="true"/>
<DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>
<ModelVariables>
<ScalarVariable name="u" valueReference="1" causality="input" variability="continuous">
<Real start="0"/></ScalarVariable>
<ScalarVariable name="x" valueReference="2" causality="output" variability="continuous" initial="exact">
<Real start="0"/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="2" dependencies=""/></Outputs></ModelStructure>
</fmiModelDescription>
"""


def _compile(target: Path, *options: str) -> None:
    subprocess.run(["cc", "-O2", "-std=gnu11", *options, "-o", target, SOURCE, "-lm"], check=True)


@cache
def cheap_fmu() -> Path:
    """The FMU, built in a folder of its own, which goes at the end of the process."""
    folder = Path(tempfile.mkdtemp(prefix="cheap_fmu_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / f"cheap{SUFFIXES.get(platform.system(), '.so')}"
    _compile(library, "-shared", "-fPIC", "-fvisibility=hidden")
    path = folder / "cheap.fmu"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("modelDescription.xml", DESCRIPTION)
        z.write(library, f"binaries/{FOLDERS.get(platform.system(), 'linux64')}/{library.name}")
    return path


def cost_from_c(order: str = "jacobi") -> float:
    """Time [s] of one step of a loop of two of them in this order, called by C alone."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "alone"
        _compile(program, "-DALONE")
        command = [program, *(["newest"] if order == "gauss-seidel" else [])]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0])
