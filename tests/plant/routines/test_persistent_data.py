"""What scripts keep from call to call: found once, copied fast, put back exactly."""

import dis
import warnings

import numpy as np
import pytest

from plant.elements import subroutine as declared
from plant.routines.persistent_data import Kept, copy_of, written_globals
from tests.helpers.slider import OUT, run, slider, variable, written

SOURCE = """
import math
import numpy as np
calls = 0
limit = 3.0
seen = [1.0, 2.0]
table = np.zeros(3)
nested = {"a": [1.0]}

def count():
    global calls
    calls += 1

def outer():
    def inner():
        global made
        made = 5
    inner()
"""


@pytest.fixture
def namespace():
    found = {"__name__": "script"}
    exec(compile(SOURCE, "script.py", "exec"), found)
    return found


def test_globals_that_inner_functions_assign_are_found_too():
    assert written_globals(compile(SOURCE, "script.py", "exec")) == {"calls", "made"}
    assert written_globals(compile("x = 1\ndef f():\n    x = 2\n    return x", "s.py", "exec")) == set()


def test_what_is_kept_comes_back(namespace):
    kept = Kept(namespace, written_globals(compile(SOURCE, "script.py", "exec")))
    before = kept.copied()
    assert set(before) == {"calls", "seen", "table", "nested"}
    namespace["count"]()
    namespace["outer"]()
    namespace["count"].memory = [1]
    namespace["seen"].append(3.0)
    namespace["table"][1] = 7.0
    namespace["nested"]["a"][0] = 9.0
    changed = kept.changed_since(before)
    assert set(changed) == {"calls", "made", "count.memory", "seen", "table", "nested"}
    kept.put_back(before)
    assert namespace["calls"] == 0 and namespace["seen"] == [1.0, 2.0]
    assert namespace["table"].tolist() == [0, 0, 0] and namespace["nested"] == {"a": [1.0]}


@pytest.mark.parametrize("value", [[[1.0], 2], np.array([[1], None], dtype=object), {0: [1.0]}])
def test_copies_share_nothing_that_can_change(value):
    copied = copy_of(value)
    value[0].append(5.0)
    assert copied[0] in ([1.0], [1])


@pytest.mark.parametrize("value", [[1.0, 2], np.arange(2.0)])
def test_copies_of_plain_lists_and_arrays_stay_as_they_were(value):
    copied, first = copy_of(value), value[0]
    value[0] = 9.0
    assert copied[0] == first and type(copied) is type(value)


def test_a_call_reads_neither_byte_code_nor_parameters_again(tmp_path, monkeypatch):
    """The script of an opaque routine is looked into when it is loaded, not at every call."""
    script = written(
        tmp_path,
        "calls = 0\n"
        "def VARSUB(id, time, par, npar, dflag, iflag):\n"
        "    global calls\n"
        "    [x, err] = py_sysfnc('DX', par)\n"
        "    calls += 1\n"
        "    return x if x > 0.3 else calls\n",
    )
    looks, reads = [], []
    instructions, parameters = dis.get_instructions, declared.user_parameters
    monkeypatch.setattr(dis, "get_instructions", lambda code: looks.append(code) or instructions(code))
    monkeypatch.setattr(declared, "user_parameters", lambda text: reads.append(text) or parameters(text))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plant = slider(script, variable(script), OUT)
    seen = []
    for end in (0.01, 0.1):  # ten times the steps
        looks.clear(), reads.clear()
        result = run(plant, [0.0, end], solver="rk4", step=1e-3, rtol=None, atol=None)
        seen.append((len(looks), len(reads)))
    assert seen[0] == seen[1]
    assert result["plant.y"][-1, 0] == pytest.approx(0.5)
