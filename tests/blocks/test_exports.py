"""What packages export is imported on first use, and found by `from`, `dir` and star imports."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from blocks.elsewhere import NO_BLOCK, OF_DIAGRAMS, SAID_ELSEWHERE
from blocks.errors import PlantloopError
from blocks.exports import Exports, listed_names

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


def test_a_block_brings_its_own_family_only():
    (families,) = fresh(
        "from blocks import Gain\nfound.append([m for m in sys.modules if m.startswith('blocks.library.')])"
    )
    assert "blocks.library.math" in families
    assert not {"blocks.library.estimators", "blocks.library.sources", "blocks.library.filters"} & {*families}


def test_lists_read_from_sources_are_those_of_the_modules():
    folder = Path(importlib.import_module("blocks.library").__file__).parent
    families = [importlib.import_module(f"blocks.library.{file.stem}") for file in folder.glob("[a-z]*.py")]
    listed = {n: f.__name__ for f in families for n in getattr(f, "__all__", ())}
    assert listed_names("blocks.library") == listed
    assert len(listed) == sum(len(getattr(f, "__all__", ())) for f in families)  # no name twice
    stars = set(re.findall(r"from (blocks\.library\.\w+) import \*", (folder / "__init__.py").read_text()))
    assert stars == set(listed.values())  # what type checkers see


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


@pytest.mark.parametrize(
    ("package", "name", "said"),
    [
        ("blocks", "TransferFcn", "Write from blocks import TransferFunction."),
        ("blocks", "ZeroOrderHold", "Write from blocks import Hold."),
        ("blocks", "Diagram", "Write from cosim import Diagram."),
        ("cosim", "Gain", "Write from blocks import Gain."),
        ("cosim", "TriggeredSubsystem", "Write from cosim import Triggered."),
        ("blocks", "Scope", "A run logs every signal"),
    ],
)
def test_a_name_of_another_tool_says_what_it_is_here(package, name, said):
    with pytest.raises(ImportError, match=f"there is no '{name}' in {package}. {said}"):
        exec(f"from {package} import {name}")
    with pytest.raises(AttributeError, match=said):
        getattr(importlib.import_module(package), name)
    assert not hasattr(importlib.import_module(package), name)


def test_what_is_said_of_other_names_exists():
    packages = map(importlib.import_module, ("blocks", "cosim", "plant"))
    known = {name for package in packages for name in package.__all__}
    words = {word for words in SAID_ELSEWHERE.values() for word in words.split() if word[0].isupper()}
    assert words - {"DOP853", "RK23"} <= known
    assert known >= OF_DIAGRAMS
    assert not {name.lower() for name in known - {"Stop"}} & (  # a command of decks
        NO_BLOCK.keys() | {k for k, v in SAID_ELSEWHERE.items() if v[0].isupper() and v.lower() != k}
    )


def test_elements_of_plants_have_their_names_elsewhere_too():
    for name, said in {
        "RigidBody": "Body_Rigid",
        "Revolute": "Constraint_Joint",
        "Spring": "Force_SpringDamper",
    }.items():
        with pytest.raises(ImportError, match=f"there is no '{name}' in plant; did you mean '{said}'"):
            exec(f"from plant import {name}")
    plant = importlib.import_module("plant")
    with pytest.raises(PlantloopError, match="has no attribute 'm'; did you mean 'mass'"):
        plant.Body_Rigid(id=1, m=2.0)
    with pytest.raises(PlantloopError, match=r"Write Plant\.read\(file\), or Plant\.from_model"):
        plant.Plant([plant.Body_Rigid(id=1, isground=True)])


def test_a_near_miss_is_offered():
    with pytest.raises(AttributeError, match="no attribute 'Saturate'; did you mean 'Saturation'"):
        importlib.import_module("blocks").Saturate  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"no attribute 'ZeroOrderHold'\. Write from blocks import Hold\."
    ):
        importlib.import_module("blocks").ZeroOrderHold  # noqa: B018
    with pytest.raises(ImportError, match="there is no 'Saturate' in blocks; did you mean 'Saturation'"):
        exec("from blocks import Saturate")


def test_a_name_that_is_not_there():
    for package in ("blocks", "plant", "cosim", "cosim.fmi"):
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Gian'"):
            importlib.import_module(package).Gian  # noqa: B018
        with pytest.raises(ImportError, match="Gian"):
            exec(f"from {package} import Gian")


def test_private_names_are_not_looked_for():
    def never() -> dict[str, str]:
        raise AssertionError("looked for")

    exports = Exports("blocks", {}, never)
    with pytest.raises(AttributeError, match="_repr_html_"):
        exports.get("_repr_html_")
