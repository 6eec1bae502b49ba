"""Compiled code is made anew whenever anything that decides what it looks like has changed."""

import ast
import shutil
from pathlib import Path

import pytest

import cosim
from blocks import Integrator
from cosim import Diagram
from cosim.engines.native import build, compiler
from cosim.engines.native.build import GENERATOR, RUNTIME, fingerprint

ROOT = Path(cosim.__file__).parents[1]
INSIDE_THE_FUNCTIONS = (
    "blocks.",
    "cosim.columns",
    "cosim.segments",
    "cosim.system",
)  # what they give is part of the functions, which are hashed


@pytest.mark.parametrize("folder", [*GENERATOR, RUNTIME], ids=lambda f: f.name)
def test_any_change_of_any_file_changes_it(tmp_path, folder):
    place = tmp_path / folder.name
    shutil.copytree(folder, place)

    def now():
        fingerprint.cache_clear()
        return fingerprint(place)

    before = now()
    assert before == now()
    files = [p for p in place.rglob("*") if p.suffix in (".py", ".c", ".h")]
    assert len(files) > 5
    for path in files:
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        assert now() != before, path
        path.write_bytes(text)
    assert now() == before
    (place / "new.py").write_text("")
    assert now() != before
    fingerprint.cache_clear()


def test_a_system_is_compiled_anew_when_it_changes(monkeypatch):
    d = Diagram("alone")
    x = d.add("x", Integrator(1.0))
    d.connect(x["y"], x["u"])
    key = build._key(d.system(), compiler.find())
    assert build._key(d.system(), compiler.find()) == key
    monkeypatch.setattr(build, "fingerprint", lambda *folders: "another")
    assert build._key(d.system(), compiler.find()) != key


def imported(path):
    """Modules of ours that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        yield from (n for n in names if n.split(".")[0] in ("blocks", "plant", "cosim"))


def test_the_generator_lies_in_the_folders_that_are_hashed():
    todo, seen = [*(ROOT / "cosim/engines/codegen").glob("*.py")], set()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for module in imported(path):
            place = ROOT / (module.replace(".", "/") + ".py")
            if place.exists() and not module.startswith(INSIDE_THE_FUNCTIONS):
                assert any(place.is_relative_to(folder) for folder in GENERATOR), f"{path} uses {module}"
                todo.append(place)
    assert len(seen) > 8


def test_what_analyses_knows_nothing_of_c():
    for name in ("graph", "copies", "plan", "planner", "host_functions", "system_functions"):
        path = ROOT / f"cosim/engines/codegen/{name}.py"
        assert not any(m.endswith("_c") for m in imported(path)), name
        assert "pl_" not in path.read_text() and "const double" not in path.read_text(), name
