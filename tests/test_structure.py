"""Who imports whom: packages one way, files without circles, names that tell one file from another.

Imports are read from the source: those of types only and those inside functions count like all others, and so
does every text that is the name of one of our modules, because `import_module` may be given it.
"""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("blocks", "plant", "cosim")

# one name, two rooms: what a deck's elements say, and the equations or checks made of exactly that
PARALLEL = {
    "plant": {
        "controls": "elements: what a deck declares; equations: the equations of it",
        "references": "elements: ids between elements; expressions: ids inside expressions",
        "wheels": "elements: what a deck declares and it exerts; equations: its states",
    },
    "cosim": {
        "linear": "analysis: linear models; deck: the command that asks for one",
        "report": "of a run of a deck and of a scenario",
    },
}

# one class name, two classes: both are public names, or a block beside what only few files see
CLASSES = {
    "Dynamics": "of a description (plant.mechanics.dynamics), of a tree of spatial_v2 (plant.gamma_q)",
    "Delay": "a block; of a system, where a delayed signal stands (cosim.system)",
    "Source": "a block; of a plant, what an attribute was written in",
    "Triangle": "a block; of a sparse matrix, its factor (plant.mechanics.rank)",
    "Memory": "a block; of the contract, what all kinds of memories have (blocks.contract.memories)",
}

# where cosim meets plants; everywhere else a plant is a block like any other
MEETS_PLANT = ("cosim.deck.", "cosim.scenario.", "cosim.cli.", "cosim.viewer.")


def files():
    """Every source file by its module name; a package's `__init__` by the name of the package."""
    found = {}
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def nodes_of(file):
    """Imports, calls that import, texts with a dot or put together, public classes of a source file.

    All the rest of its tree is let go: a collector of garbage would look through it again and again.
    """
    tree = ast.parse(file.read_text())
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr))
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value)
        or (isinstance(node, ast.Call) and called(node) in IMPORT)
    ], [node.name for node in classes]


IMPORT = ("import_module", "__import__")


def called(node):
    """Name of the function that is called."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def imported(module, file, known):
    """Modules of ours that a file imports, wherever in it."""
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    for node in nodes_of(file)[0]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inside = f"{source}.{alias.name}"
                yield from (name for name in ([inside] if inside in known else [source]) if name in known)
        elif isinstance(node, ast.Constant) and node.value in known:
            yield node.value


def put_together(nodes):
    """Names of our modules that are put together when they are needed, which no graph shows."""
    beginnings = tuple(f"{package}." for package in PACKAGES)
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            first = node.values[0]
            found = isinstance(first, ast.Constant) and first.value.startswith(beginnings)
        elif isinstance(node, ast.Call):
            given = isinstance(node.args[0], (ast.Constant, ast.Subscript)) if node.args else True
            found = not given
        else:
            continue
        if found:
            yield ast.unparse(node)


@cache
def graph():
    """Which file imports which."""
    known = files()
    found = nx.DiGraph()
    found.add_nodes_from(known)
    for module, file in known.items():
        found.add_edges_from((module, other) for other in imported(module, file, known) if other != module)
    return found


def circles():
    return [set(found) for found in nx.strongly_connected_components(graph()) if len(found) > 1]


def test_no_file_imports_itself_through_others():
    assert not [sorted(found) for found in circles()]


# what is not ours, chosen when it is needed
LOADED = {"plant.routines.scripts": ["builtins.__import__(name, *arguments, **named)"]}


def test_no_name_of_a_module_is_put_together():
    found = {module: list(put_together(nodes_of(file)[0])) for module, file in files().items()}
    assert {module: texts for module, texts in found.items() if texts} == LOADED


@pytest.mark.parametrize(
    "text",
    ["import_module('cosim.diagram')", "HOMES = {'Diagram': 'cosim.diagram'}", "from cosim import diagram"],
)
def test_a_text_that_names_a_module_is_an_import(tmp_path, text):
    (tmp_path / "one.py").write_text(text)
    assert set(imported("blocks.one", tmp_path / "one.py", files())) == {"cosim.diagram"}


def test_blocks_import_nothing_of_ours_and_plants_only_blocks():
    allowed = {"blocks": {"blocks"}, "plant": {"plant", "blocks"}, "cosim": {"cosim", "blocks", "plant"}}
    wrong = [(a, b) for a, b in graph().edges if b.split(".")[0] not in allowed[a.split(".")[0]]]
    assert not wrong


def test_cosim_meets_plants_only_where_decks_and_files_are_read():
    wrong = [
        (a, b) for a, b in graph().edges
        if a.startswith("cosim") and b.split(".")[0] == "plant" and not a.startswith(MEETS_PLANT)
    ]  # fmt: skip
    assert not wrong


OF_DECKS = ("plant.elements", "plant.formats")


@pytest.mark.parametrize("room", ["plant.description", "plant.mechanics", "plant.constraints"])
def test_the_mechanics_know_no_elements_of_a_deck(room):
    """They work on a description and on conditions between its frames, whatever they were read from."""
    wrong = [
        (a, b) for a in graph() if a.startswith(room)
        for b in nx.descendants(graph(), a) if b.startswith((*OF_DECKS, "plant.equations"))
    ]  # fmt: skip
    assert not wrong


def test_assembly_knows_no_elements_of_a_deck():
    """It closes what it is given; a plant as a whole is carried over in `carry`."""
    wrong = [(a, b) for a, b in graph().edges if a.startswith("plant.assembly") and b.startswith(OF_DECKS)]
    assert not wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_a_files_name_is_that_of_one_file(package):
    by_name = defaultdict(list)
    for module, file in files().items():
        if module.startswith(package) and file.name != "__init__.py":
            by_name[file.stem].append(module)
    twice = {name for name, found in by_name.items() if len(found) > 1}
    assert twice == set(PARALLEL.get(package, {}))


def test_a_class_name_is_that_of_one_class():
    """Names with an underscore are a file's own."""
    by_name = defaultdict(list)
    for module, file in files().items():
        for name in nodes_of(file)[1]:
            by_name[name].append(module)
    assert {name: found for name, found in by_name.items() if len(found) > 1}.keys() == CLASSES.keys(), (
        by_name
    )
