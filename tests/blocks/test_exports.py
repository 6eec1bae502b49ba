"""What packages export is imported on first use, and found by `from`, `dir` and star imports."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from blocks.exports import Exports

ROOT = Path(__file__).parents[2]
SOME = {
    "blocks": {"Gain", "Block", "functions", "PlantloopError"},
    "plant": {"Plant", "Port", "Model", "Body_Rigid", "read_model"},
    "cosim": {"Diagram", "simulate", "FMU", "If", "export_ssp"},
    "cosim.fmi": {"FMU", "export_fmu"},
    "cosim.study": {"Study", "StudyResult", "open_study"},
}


def fresh(code):
    """What code puts into `found`, in a new process."""
    code = f"import json, sys\nfound = []\n{code}\nprint(json.dumps(found))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_importing_a_package_brings_no_library():
    light, contract = fresh(
        "import blocks, plant, cosim, cosim.fmi\nfound.append([*sys.modules])\n"
        "from blocks import PlantloopError, Rate, functions\nfound.append([*sys.modules])"
    )
    assert not {"casadi", "numpy", "networkx", "lxml", "matplotlib", "pydantic"} & set(light)
    assert "blocks.functions" in contract
    assert not [name for name in (*light, *contract) if name.startswith("blocks.library")]


@pytest.mark.parametrize("package", SOME)
def test_star_imports_dir_and_names_agree(package):
    space = {}
    exec(f"from {package} import *", space)
    module = importlib.import_module(package)
    assert SOME[package] <= space.keys() - {"__builtins__"} == set(module.__all__) <= set(dir(module))


def test_what_was_found_is_kept():
    for package, some in SOME.items():
        module = importlib.import_module(package)
        for name in some:
            assert getattr(module, name) is vars(module)[name]


def test_a_name_that_is_not_there():
    for package in ("blocks", "plant", "cosim", "cosim.fmi"):
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Gian'"):
            importlib.import_module(package).Gian  # noqa: B018
        with pytest.raises(ImportError, match="Gian"):
            exec(f"from {package} import Gian")


def test_private_names_are_not_looked_for():
    def never():
        raise AssertionError("looked for")

    exports = Exports("blocks", {}, never)
    with pytest.raises(AttributeError, match="_repr_html_"):
        exports.get("_repr_html_")
