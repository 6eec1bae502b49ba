"""The guides for newcomers: every block they name is there, every block is named, every snippet runs."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import blocks
import cosim
from tests.blocks.contract.test_contract import EXPORTED

DOCS = Path(__file__).parents[2] / "docs"
MAPS = ("from_simulink.md", "from_pathsim.md")
ELSEWHERE = {"trace"}  # functions that are named in a column of blocks
OWN = {"Block", "Clock", "TurnCounter"}


def named(file):
    """Names in the second column of the tables."""
    rows = [line.split("|") for line in (DOCS / file).read_text().splitlines() if line.startswith("| ")]
    cells = [row[2] for row in rows if len(row) > 3 and not row[1].strip().startswith("---")]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("file", MAPS)
def test_every_block_that_is_named_exists(file):
    names = named(file)
    assert len(names) > 50
    assert not [n for n in names - ELSEWHERE if not hasattr(blocks, n) and not hasattr(cosim, n)]


def answers():
    """Rows of the tables: blocks that are named, and what is written as code beside them."""
    for file in MAPS:
        for line in (DOCS / file).read_text().splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) < 2 or cells[1] in ("here", "---"):
                continue
            found = [
                getattr(blocks, n, None) or getattr(cosim, n, None) for n in re.findall(r"`(\w+)`", cells[1])
            ]
            yield f"{file}: {cells[0]}", found, re.findall(r"`([^`]+)`", " ".join(cells[1:]))


@pytest.mark.parametrize(
    ("row", "found", "code"), list(answers()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_code_in_a_row_has_the_fields_and_methods_that_are_there(row, found, code):
    """``reset=`` is a field of a block of the row, ``Gain(-1.0)`` can be made, ``d.info()`` is a method."""
    space = {name: getattr(package, name) for package in (blocks, cosim) for name in dir(package)}
    fields = {name for c in found if c is not None for name in inspect.signature(c).parameters}
    for text in code:
        if text in ELSEWHERE or text.isidentifier():
            continue
        if keyword := re.fullmatch(r"(\w+)=.*", text):
            assert keyword[1] in fields, f"{row}: {text}"
        elif called := re.fullmatch(r"([A-Z]\w+)\(.*\)", text):
            tree = ast.parse(text, mode="eval").body
            known = inspect.signature(space[called[1]]).parameters
            assert {k.arg for k in tree.keywords} <= set(known), f"{row}: {text}"
            plain = not any(isinstance(n, ast.Name) and n.id not in space for n in ast.walk(tree))
            if plain:
                eval(text, dict(space))
        elif method := re.match(r"(?:\w+ = )?(d|r|[A-Z]\w+)\.(\w+)\(", text):
            owner = {"d": cosim.Diagram, "r": cosim.Result}.get(method[1]) or space[method[1]]
            assert hasattr(owner, method[2]), f"{row}: {text}"


ROWS = {  # blocks the libraries have, counted once from their files: names in the first column
    "from_pathsim.md": 110,
    "from_simulink.md": 141,
}


@pytest.mark.parametrize(("file", "least"), ROWS.items())
def test_the_guides_name_all_blocks_of_the_other_libraries(file, least):
    text = (DOCS / file).read_text().partition("## From bdsim")[0]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    names = [n for cell in cells for n in cell.split(",") if n.strip() not in ("---", "PathSim", "Simulink")]
    assert len(names) >= least and len({n.strip() for n in names}) == len(names)


def test_nearly_every_block_of_the_library_can_be_found_from_simulink():
    missing = {c.__name__ for c in EXPORTED} - named("from_simulink.md")
    assert missing <= OWN, missing


@pytest.mark.parametrize("file", [*MAPS, "first_block.md", "units.md", "control_design.md", "stepping.md"])
def test_the_snippets_run(file):
    space = {}
    for snippet in re.findall(r"```python\n(.*?)```", (DOCS / file).read_text(), re.S):
        exec(compile(snippet, file, "exec"), space)
