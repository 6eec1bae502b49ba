"""Every promise of docs/security.md names a test that is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"


def functions(file):
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


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
