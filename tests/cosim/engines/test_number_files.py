"""Long tables in compiled code are bytes; the numbers are the same to the last bit."""

import sys

import numpy as np
import pytest

from blocks import LookupTable1D, Ramp
from cosim import Diagram, simulate
from cosim.engines.native.number_files import numbers_apart

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the text stays as it is")
HEAD = "#define casadi_real double\n"


def printed(numbers):
    body = ", ".join(f"{v:.16e}".replace("inf", "casadi_inf").replace("nan", "casadi_nan") for v in numbers)
    return f"{HEAD}static const casadi_real casadi_c3[{len(numbers)}] = \n  {{{body}}};\nint x;\n"


@linux
def test_a_long_table_is_a_file_of_bytes(tmp_path):
    numbers = np.random.default_rng(3).normal(size=300) * 10.0 ** np.arange(-150, 150)
    numbers[:4] = -0.0, np.inf, -np.inf, 5e-324
    text = numbers_apart("pl_call7.c", printed(numbers), tmp_path)
    assert len(text) < 500 and text.startswith(HEAD) and text.endswith("int x;\n")
    assert "casadi_c3[300]" in text
    (file,) = tmp_path.iterdir()
    assert file.name == "pl_call7_numbers3.bin" and file.read_bytes() == numbers.tobytes()


@pytest.mark.parametrize("numbers", [np.arange(255.0), np.r_[np.arange(400.0), np.nan]])
def test_short_tables_and_those_with_nan_stay_text(tmp_path, numbers):
    assert numbers_apart("a.c", printed(numbers), tmp_path) == printed(numbers)
    assert not [*tmp_path.iterdir()]


def test_paths_that_the_assembler_reads_otherwise_keep_the_text(tmp_path):
    place = tmp_path / 'a "quoted" one'
    assert numbers_apart("a.c", printed(np.arange(300.0)), place) == printed(np.arange(300.0))


def test_a_long_table_gives_the_same_bits_on_both_engines():
    values = np.random.default_rng(1).normal(size=1000)
    values[[3, 500]] = -0.0, 1e-310
    d = Diagram("long table")
    u = d.add("u", Ramp(1.0))
    table = d.add("table", LookupTable1D(np.arange(1000) * 1e-2, values))
    d.connect(u["y"], table["u"])
    native, reference = (
        simulate(d, 10.0, engine=e, solver="euler", step=0.01) for e in ("native", "reference")
    )
    assert native["table.y"].tobytes() == reference["table.y"].tobytes()
    expected = np.interp(native.time, np.arange(1000) * 1e-2, values)
    assert np.abs(native["table.y"].ravel() - expected).max() < 1e-9
