"""Which C files an exported model consists of, and the names of several codes in one library."""

from __future__ import annotations

import numpy as np
import pytest

import blocks as B
from cosim import Diagram, export_fmu
from cosim.engines.codegen.model_c import CFile
from cosim.engines.native.build import RUNTIME
from cosim.fmi.export import sources
from tests.helpers.fmus import needs_compiler
from tests.helpers.opened_fmu import Opened


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_files_of_a_version_are_the_runtime_and_units_without_what_couples_fmus(version):
    names = [f.name for f in sources.fixed(version)]
    own = {p.name for p in sources.UNIT.glob(f"fmi{version[0]}*.c")}
    assert own and {f.name for f in sources.of_version(version)} == own
    units = {p.name for p in sources.UNIT.glob("unit*.c")}
    runtime = {p.name for p in RUNTIME.glob("*.c")} - set(sources.UNUSED)
    assert len(names) == len(set(names)) and set(names) == own | units | runtime
    assert set(sources.UNUSED) < {p.name for p in RUNTIME.glob("*.c")}  # none is gone
    by_name = {f.name: f for f in sources.fixed(version)}
    assert by_name["unit.c"].text == (sources.UNIT / "unit.c").read_text()
    assert by_name["run.c"].text == (RUNTIME / "run.c").read_text()


def test_headers_of_a_version_leave_out_those_of_the_other():
    every = set(sources.headers())
    assert {"fmi3.h", "unit.h", "plantloop.h"} <= every
    for version, other in (("2.0", "fmi3"), ("3.0", "fmi2")):
        assert set(sources.headers_of(version)) == {n for n in every if not n.startswith(other)}
    assert sources.headers()["unit.h"] == (sources.UNIT / "unit.h").read_text()


ONE = """#include "functions.h"

void part_a(double *x) { pl_call3(x); }
const int *part_b(void) { return 0; }
pl_jacobian *part_c(void) { return 0; }
static void hidden(void) {}
const pl_jacobian *pl_get_jacobian(void) { return 0; }
"""
CALLED = "#include <math.h>\nint pl_call3(double *x) { return 0; }\nint pl_call3_work(void) { return 0; }\n"


def test_all_that_other_files_see_gets_a_prefix():
    """Defined behind the header, so that nothing in it is renamed; called functions by their text alone."""
    files = [CFile("model.c", ONE, "-O2"), CFile("called3.c", CALLED, "-O1")]
    one, called = sources.renamed(files, "stiff", "unit_stiff_code")
    assert (one.name, one.level, called.name, called.level) == (
        "stiff_model.c",
        "-O2",
        "stiff_called3.c",
        "-O1",
    )
    defined = "".join(f"#define {n} stiff_{n}\n" for n in ("part_a", "part_b", "part_c"))
    defined += "#define pl_get_jacobian unit_stiff_code\n"
    first, rest = ONE.split("\n", 1)
    assert one.text == f"{first}\n{defined}{rest}".replace("pl_call3", "stiff_pl_call3")
    assert called.text == CALLED.replace("pl_call3", "stiff_pl_call3")


@needs_compiler
def test_functions_that_several_codes_call_are_apart(tmp_path):
    """A cubic table is a function that is called: in the model, its Jacobian, and both derivatives."""
    d = Diagram("tables")
    x = np.linspace(0.0, 3.0, 7)
    table = d.add("t", B.LookupTableND([x], np.sin(x), interpolation="cubic"))
    state = d.add("x", B.Integrator(1.0))
    d.connect(d.inport("u"), table["u1"])
    d.connect(table["y"], state["u"])
    d.outport("y", state["y"])
    with Opened(export_fmu(d, tmp_path / "t.fmu", version="2.0", solver="rodas4"), values={"u": 0.5}) as m:
        m.step(0.25)
        assert m.get("y") == pytest.approx(1.0 + 0.25 * np.sin(0.5), abs=1e-3)
        assert m.forward(["der(x.x)"], ["u"], [1.0]) == pytest.approx([np.cos(0.5)], abs=1e-2)
