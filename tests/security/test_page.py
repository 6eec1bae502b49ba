"""Every promise of docs/security.md names a test that is there."""

import ast
import re
from pathlib import Path

import pytest

from tests.security import fuzz
from tests.security.test_snapshot_files import CHANGES, FACTS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"


def functions(file):
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.slow
def test_the_tests_a_promise_names_are_there():
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text())
    assert len(named) > 30
    missing = [
        (file, test)
        for file, test in named
        if not (ROOT / file).is_file() or (test and test not in functions(ROOT / file))
    ]
    assert not missing


def test_every_promise_names_a_test():
    text = PAGE.read_text().split("## Tried and found")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    heads = {"file", "asked for", "what", "promise"}
    without = [row for row in rows if row.split("|")[1].strip() not in heads and "`tests/" not in row]
    assert rows and not without


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_figures_of_the_fuzzers_are_what_the_command_wrote(kind):
    """As many as the command beside them tries, none found; CI tries as many as it says."""
    (row,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| {kind} | "))
    tried, seed = map(int, re.findall(r"--count (\d+) --seed (\d+) ", row)[0])
    assert tried >= 2000 and fuzz.written(row, kind, tried, seed, 0).strip() == row


def test_the_command_writes_what_it_tried(tmp_path, monkeypatch, capsys):
    page = tmp_path / "security.md"
    page.write_text(PAGE.read_text())
    monkeypatch.setattr(fuzz, "PAGE", page)
    monkeypatch.setattr(fuzz, "tried", lambda kind, r: "found" if r.random() < 0.5 else "")
    assert fuzz.main(["expressions", "--count", "8", "--seed", "3", "--write"]) == 1
    rows = PAGE.read_text().splitlines(), page.read_text().splitlines()
    (new,) = set(rows[1]) - set(rows[0])
    found = capsys.readouterr().out.count("--- expressions")
    assert 0 < found < 8 and len(rows[0]) == len(rows[1])
    command = "`python -m tests.security.fuzz --count 8 --seed 3 expressions`"
    assert new == f"| expressions | 8 by hand, 500 in CI | {found} | {command} |"


def test_figures_of_the_forged_snapshots_are_those_of_their_tests():
    (row,) = (line for line in PAGE.read_text().splitlines() if line.startswith("| forged snapshots | "))
    assert f"| {len(CHANGES) + len(FACTS)} changes, " in row
