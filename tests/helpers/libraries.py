"""Compiled libraries of user subroutines."""

import shutil
import subprocess
from pathlib import Path

import pytest

import plant.routines.libraries
from plant.routines.libraries import SUFFIX


def built(folder: Path, name: str, source: str) -> str:
    """The path a deck from Windows would name; the library of this system beside it, made of C `source`."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / f"{name}.c").write_text(source)
    include = Path(plant.routines.libraries.__file__).parent
    command = [compiler, "-Wall", "-Werror", "-shared", "-fPIC", f"-I{include}"]
    command += ["-o", str(folder / f"lib{name}{SUFFIX}"), str(folder / f"{name}.c"), "-lm"]
    subprocess.run(command, check=True)
    return str(folder / f"{name}.dll")
