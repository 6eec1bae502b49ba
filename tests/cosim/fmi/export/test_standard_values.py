"""Functions of FMI of exported units in C, by themselves: values, dependencies, saved states and derivatives.

The unit behind them is stubs that note their calls.
"""

from __future__ import annotations

import pytest

from tests.helpers.runtime_parts import Runtime, parts
from tests.helpers.unit_functions import CALLED, NO_TYPES_2, NO_TYPES_3, STATES_2, STATES_3, STUBS, Instance

OK, DISCARD, ERROR = 0, 2, 3


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), STUBS, CALLED))


def test_values_of_version_2_one_by_one(runtime):
    """The worst of all statuses when they are read; where one cannot be set those behind it are left."""
    one = Instance(runtime, 2)
    refs, values = one.refs(3, 1, 2), one.doubles(0.0, 0.0, 0.0)
    for answers, worst in (([0, 0, 0], OK), ([2, 0, 3], ERROR), ([1, 2, 0], DISCARD), ([3, 1, 0], ERROR)):
        assert one.call("GetReal", refs, 3, values, answers=answers, number=0.5) == (
            worst,
            "get(3) get(1) get(2)",
        )
        assert list(values) == [3.5, 1.5, 2.5]
    assert one.call("SetReal", refs, 3, values) == (OK, "set(3,3.5) set(1,1.5) set(2,2.5)")
    assert one.call("SetReal", refs, 3, values, answers=[0, 2]) == (DISCARD, "set(3,3.5) set(1,1.5)")


def test_values_of_version_3_by_variables(runtime):
    one = Instance(runtime, 3)
    refs, values = one.refs(4, 0), one.doubles(0.0, 0.0, 0.0)
    assert one.call("GetFloat64", refs, 2, values, 3, number=0.5) == (OK, "get(4) get(5) get(0)")
    assert list(values) == [4.5, 5.5, 0.5]
    for answers, worst in (([2, 0, 3], ERROR), ([1, 2, 0], DISCARD), ([3, 1, 0], ERROR)):
        assert one.call("GetFloat64", refs, 2, values, 3, answers=answers)[0] == worst
    values = one.doubles(7.0, 8.0, 9.0)
    assert one.call("SetFloat64", refs, 2, values, 3) == (OK, "set(4,7) set(5,8) set(0,9)")
    assert one.call("SetFloat64", refs, 2, values, 3, answers=[0, 2]) == (DISCARD, "set(4,7) set(5,8)")
    for name in ("GetFloat64", "SetFloat64"):
        for n in (2, 4):
            text = f"[3 m: fmi3{name}: {n} numbers were given for variables of 3.]"
            assert one.call(name, refs, 2, values, n) == (ERROR, text)
        for missing in (5, 7, 2**32 - 1):
            text = f"[3 m: no variable has the value reference {missing}.]"
            assert one.call(name, one.refs(0, missing), 2, values, 2) == (ERROR, text)


@pytest.mark.parametrize(("version", "types"), [(2, NO_TYPES_2), (3, (*NO_TYPES_3, "Clock"))])
def test_of_other_types_there_are_no_variables(runtime, version, types):
    one = Instance(runtime, version)
    for kind in types:
        for way in ("Get", "Set"):
            values = one.ffi.cast(f"fmi{version}{kind} *", one.new("double", 2))
            more = (0,) if version == 3 and kind != "Clock" else ()
            assert one.call(f"{way}{kind}", one.refs(0), 0, values, *more) == (OK, "")
            text = f"[3 m: it has no variables of type {kind}.]"
            assert one.call(f"{way}{kind}", one.refs(0), 1, values, *more) == (ERROR, text)
    if version == 3:
        for way in ("Get", "Set"):
            values = one.ffi.cast("fmi3Binary *", one.new("double", 2))
            for n, found in ((0, (OK, "")), (1, (ERROR, "[3 m: it has no variables of type Binary.]"))):
                assert one.call(f"{way}Binary", one.refs(0), n, one.new("size_t"), values, 0) == found


# --- dependencies, states, derivatives ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dependent", "found"), [(0, []), (1, [(1, 0, 0), (2, 4, 1), (2, 6, 0)]), (6, [(0, 4, 2), (0, 1, 3)])]
)
def test_dependencies_are_told_by_elements(runtime, dependent, found):
    """FMI 3.0.2, section 2.2.10: elements are counted from 1, and 0 stands for a variable as a whole."""
    one, n = Instance(runtime, 3), runtime.array([9], "size_t")
    assert one.call("GetNumberOfVariableDependencies", dependent, n) == (OK, "") and n[0] == len(found)
    element, on, of = one.new("size_t", 4), one.new("uint32_t", 4), one.new("size_t", 4)
    kinds = runtime.array([0] * 4, "fmi3DependencyKind")
    call = lambda n: one.call("GetVariableDependencies", dependent, element, on, of, kinds, n)
    assert call(len(found)) == (OK, "")
    assert [(element[k], on[k], of[k]) for k in range(len(found))] == found
    assert list(kinds) == [5] * len(found) + [0] * (4 - len(found))
    assert call(len(found) + 1) == (
        ERROR,
        "[3 m: fmi3GetVariableDependencies: there are fewer than was said.]",
    )
    if found:
        text = "[3 m: fmi3GetVariableDependencies: there are more than was said.]"
        assert call(len(found) - 1) == (ERROR, text)


def test_what_the_model_does_not_compute_depends_on_nothing(runtime):
    one, n = Instance(runtime, 3), runtime.array([9], "size_t")
    text = "[3 m: the variable with value reference 4 is none the model computes.]"
    assert one.call("GetNumberOfVariableDependencies", 4, n) == (ERROR, text) and n[0] == 9
    assert one.call("GetNumberOfVariableDependencies", 5, n)[0] == ERROR
    null = runtime.ffi.NULL
    assert one.call("GetVariableDependencies", 4, null, null, null, null, 0) == (ERROR, text)


@pytest.mark.parametrize("version", [2, 3])
def test_a_state_is_saved_and_comes_back(runtime, version):
    """FMI 2.0.4, section 2.1.8; FMI 3.0.2, section 2.2.11: what is there is used again."""
    get, put, free, size_of, serialize, back = STATES_2 if version == 2 else STATES_3
    one, null = Instance(runtime, version), runtime.ffi.NULL
    state = runtime.array([null], "void *")
    assert one.call(get, null)[0] == ERROR
    for answers in ([ERROR], [0, ERROR]):
        assert one.call(get, state, answers=answers)[0] == ERROR and state[0] == null
    assert one.call(get, state) == (OK, "unsettle save(0)")
    held = state[0]
    assert one.call(get, state) == (OK, "unsettle save(4)") and state[0] == held
    assert one.call(get, state, answers=[0, ERROR])[0] == ERROR and state[0] == held
    assert one.call(put, held, answer=DISCARD) == (DISCARD, "load(4)")
    assert one.call(put, null) == (OK, "load(0)")
    n, kind = one.new("size_t"), "char" if version == 2 else "uint8_t"
    assert one.call(size_of, held, n) == (OK, "") and n[0] == 4
    assert one.call(size_of, null, n)[0] == one.call(size_of, held, null)[0] == ERROR
    room = runtime.ffi.new(f"{kind}[6]")
    assert one.call(serialize, held, room, 3)[0] == one.call(serialize, null, room, 6)[0] == ERROR
    assert bytes(runtime.ffi.buffer(room)) == bytes(6)
    for given in (4, 5):
        assert one.call(serialize, held, room, given) == (OK, "")
        assert bytes(runtime.ffi.buffer(room)) == b"abcd\0\0"
    assert one.call(back, room, 4, state, answer=DISCARD) == (DISCARD, "restore(abcd,1)")
    assert one.call(back, null, 4, state)[0] == one.call(back, room, 4, null)[0] == ERROR
    assert one.call(free, state) == (OK, "") and state[0] == null
    assert one.call(free, state) == one.call(free, null) == (OK, "")


@pytest.mark.parametrize("name", ["forward", "adjoint"])
def test_derivatives_of_version_3_are_by_numbers(runtime, name):
    """FMI 3.0.2, section 2.2.12: the seed of the adjoint is along unknowns."""
    one = Instance(runtime, 3)
    function = {"forward": "GetDirectionalDerivative", "adjoint": "GetAdjointDerivative"}[name]
    unknowns, knowns, seed, out = one.refs(4, 0), one.refs(1), one.doubles(0.5), one.doubles(0.0)
    found = one.call(function, unknowns, 2, knowns, 1, seed, 3, out, 3, answer=DISCARD, number=2.0)
    assert found == (DISCARD, f"{name}(4 5 0 by 1 2 3 0.5)") and out[0] == 2.0
    unknowns = one.refs(4)
    call = lambda a, b: one.call(function, unknowns, 1, knowns, 1, seed, a, out, b)
    right, wrong = ((3, 2), (2, 3)) if name == "forward" else ((2, 3), (3, 2))
    assert call(*right) == (OK, f"{name}(4 5 by 1 2 3 0.5)")
    status, story = call(*wrong)
    assert status == ERROR and story.startswith(
        f"[3 m: fmi3{function}: 3 numbers were given for variables of 2"
    )
    knowns = one.refs(7)
    assert call(*right) == (ERROR, "[3 m: no variable has the value reference 7.]")


def test_derivatives_of_version_2_are_passed_on(runtime):
    one = Instance(runtime, 2)
    seed, out = one.doubles(0.5), one.doubles(0.0)
    found = one.call(
        "GetDirectionalDerivative", one.refs(4, 6), 2, one.refs(1), 1, seed, out, answer=1, number=3.0
    )
    assert found == (1, "forward(4 6 by 1 0.5)") and out[0] == 3.0


@pytest.mark.parametrize("version", [2, 3])
def test_rates_of_outputs_are_of_order_1(runtime, version):
    one = Instance(runtime, version)
    name, more = ("GetRealOutputDerivatives", ()) if version == 2 else ("GetOutputDerivatives", (3,))
    out, kind = one.doubles(0.0, 0.0), "int" if version == 2 else "int32_t"
    call = lambda *orders: one.call(
        name, one.refs(4, 0), 2, runtime.array(orders, kind), out, *more, answer=1, number=2.0
    )
    assert call(1, 1) == (1, "slopes(4 0 by 0)" if version == 2 else "slopes(4 5 0 by 0)") and out[0] == 2.0
    for orders in ((1, 2), (0, 1), (2, 1)):
        status, story = call(*orders)
        assert status == ERROR and "derivatives of outputs are of order 1" in story
        assert version == 3 or f"not {next(k for k in orders if k != 1)}." in story
    if version == 3:
        status, story = one.call(name, one.refs(4, 0), 2, runtime.array([1, 1], kind), out, 2)
        assert status == ERROR and "2 numbers were given for variables of 3" in story
