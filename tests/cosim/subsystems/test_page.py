"""The page about subsystems and charts does what it says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "subsystems.md"


@pytest.mark.slow
def test_every_piece_of_code_runs():
    pieces = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(pieces) == 7
    names: dict[str, object] = {}
    for piece in pieces:
        exec(piece, names)
