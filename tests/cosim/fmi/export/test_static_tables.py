"""Texts and numbers of a diagram as C: a literal that any compiler reads as that text, as those bits."""

import math
import subprocess

import numpy as np
import pytest

from cosim.fmi.export.static_tables import array, quoted
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


NUMBERS = [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, -2.5e-300, math.inf, -math.inf, math.nan]


@needs_compiler
@pytest.mark.timeout(120)
def test_numbers_are_read_back_to_the_last_bit(tmp_path):
    """By a C compiler, as bytes; empty arrays have an entry, whole numbers their own type."""
    whole = {"i": np.array([-(2**31), 7], dtype=np.int32), "u": np.array([2**64 - 1, 3], dtype=np.uint64)}
    code = [
        "#include <stdint.h>\n#include <math.h>\n#include <stdio.h>\n",
        array("d", NUMBERS, "double"),
        array("none", []),
        *(array(name, values) for name, values in whole.items()),
        "int main(void) {\n    fwrite(d, 1, sizeof(d), stdout);\n    fwrite(i, 1, sizeof(i), stdout);\n"
        "    fwrite(u, 1, sizeof(u), stdout);\n    fwrite(none, 1, sizeof(none), stdout);\n"
        "    return 0;\n}\n",
    ]
    (tmp_path / "numbers.c").write_text("".join(code))
    subprocess.run([COMPILER, "-std=c99", "-o", tmp_path / "numbers", tmp_path / "numbers.c"], check=True)
    found = subprocess.run([tmp_path / "numbers"], check=True, capture_output=True).stdout
    finite = np.array(NUMBERS[:-1])
    assert found[: finite.nbytes] == finite.tobytes()
    assert math.isnan(np.frombuffer(found, count=1, offset=finite.nbytes)[0])
    behind = finite.nbytes + 8
    assert found[behind:] == whole["i"].tobytes() + whole["u"].tobytes() + bytes(8)
