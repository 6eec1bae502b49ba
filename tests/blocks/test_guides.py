"""The guides for newcomers: every block they name is there, every block is named, every snippet runs."""

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


def test_nearly_every_block_of_the_library_can_be_found_from_simulink():
    missing = {c.__name__ for c in EXPORTED} - named("from_simulink.md")
    assert missing <= OWN, missing


@pytest.mark.parametrize("file", [*MAPS, "first_block.md", "units.md"])
def test_the_snippets_run(file):
    space = {}
    for snippet in re.findall(r"```python\n(.*?)```", (DOCS / file).read_text(), re.S):
        exec(compile(snippet, file, "exec"), space)
