"""Texts of a diagram as C: whatever they are, a literal that any compiler reads as that text."""

import subprocess

import pytest

from cosim.fmi.export.static_tables import quoted
from tests.helpers.fmus import COMPILER, needs_compiler

TEXTS = {
    "plain": "plain",
    'quotes " and \\ and */ // %n': 'quotes " and \\ and */ // %n',
    "lines\n\tof two": "lines\n\tof two",
    "trigraphs ??/ ???/ ????/ ??'": "trigraphs ??/ ???/ ????/ ??'",
    "null \0 escape \x1b[2J bell \a delete \x7f": "null ? escape ?[2J bell ? delete ?",
    "\u00e9\u2028\ud800": "???",
    "ends in \\": "ends in \\",
}


@needs_compiler
@pytest.mark.timeout(120)
def test_texts_as_literals(tmp_path):
    file = tmp_path / "texts.c"
    prints = "".join(f"    fwrite({q}, 1, sizeof({q}), stdout);\n" for q in map(quoted, TEXTS))
    file.write_text(f"#include <stdio.h>\nint main(void) {{\n{prints}    return 0;\n}}\n")
    subprocess.run([COMPILER, "-std=c99", "-pedantic-errors", "-o", tmp_path / "texts", file], check=True)
    found = subprocess.run([tmp_path / "texts"], check=True, capture_output=True).stdout
    assert found.decode().split("\0")[:-1] == list(TEXTS.values())
