"""A run's own copy of a function: independent of the original and of others, saved and put back."""

import copy
import functools
import itertools
import pickle
import random
from random import gauss

import numpy as np
import pytest

from blocks import BlockError
from blocks.errors import KeepsError
from blocks.library.callables import OwnCopy
from blocks.library.persistent_data import named

U = np.array([1.0])
total = 0.0
noted: list[float] = []
sums = [0.0]


class Sum:
    """A running sum, as an object, with a method, and with save and load."""

    def __init__(self):
        self.total, self.parts = 0.0, [0.0]

    def __call__(self, t, u):
        self.total += u[0]
        self.parts[0] += 1
        return self.total + 1000 * self.parts[0]

    def add(self, t, u):
        return self(t, u)


class SavedSum(Sum):
    def save(self):
        return pickle.dumps((self.total, self.parts))

    def load(self, state):
        self.total, self.parts = pickle.loads(state)


SUM = SavedSum()


def of_global_memory(t, u):
    return SUM(t, u)


def through_a_helper(t, u):
    return of_global_memory(t, u)


class Holder:
    def __init__(self, memory):
        self.memory = memory

    def step(self, t, u):
        return self.memory(t, u)


def with_offset(memory, t, u, offset=0.0):
    return memory(t, u) + offset


def ways():
    """A function and its memory by how they belong together."""
    found = {"object": (Sum(), None), "method": (Sum().add, None), "saved": (SavedSum().add, None)}
    found["partial"] = (functools.partial(with_offset, Sum(), offset=1.0), None)
    found["partial of a method"] = (functools.partial(Sum().add), None)
    memory = SavedSum()
    found["memory itself"] = (memory, memory)
    found["its method"] = (memory.add, memory)
    found["closure"] = (lambda t, u: memory(t, u), memory)
    inner = lambda t, u: memory.add(t, u)
    found["closure of a closure"] = (lambda t, u: inner(t, u), memory)
    found["holder"] = (Holder(memory).step, memory)
    step, holder = Holder(memory).step, Holder(memory)
    found["closure of a method"] = (lambda t, u: step(t, u), memory)
    found["closure of a holder"] = (lambda t, u: holder.step(t, u), memory)
    found["global"] = (of_global_memory, SUM)
    return found


@pytest.mark.parametrize("way", ways())
def test_copies_know_nothing_of_each_other_and_of_the_original(way):
    function, memory = ways()[way]
    first, second = OwnCopy(function, memory), OwnCopy(function, memory)
    values = [first.call(0.1 * k, U) for k in range(3)]
    assert [second.call(0.1 * k, U) for k in range(3)] == values
    assert values[0] < values[1] < values[2]
    assert OwnCopy(function, memory).call(0.0, U) == values[0]


@pytest.mark.parametrize("way", ways())
def test_what_is_saved_is_put_back_in_another_copy(way):
    function, memory = ways()[way]
    first, second = OwnCopy(function, memory), OwnCopy(function, memory)
    first.call(0.0, U)
    state = first.save()
    after = [first.call(0.1 * k, U) for k in range(2)]
    second.load(state)
    assert [second.call(0.1 * k, U) for k in range(2)] == after
    first.load(state)
    assert first.call(0.0, U) == after[0]


# --- plain functions that keep something
def counting_global(t, u):
    global total
    total += u[0]
    return total


def summing_in_place(t, u):
    sums[0] += u[0]
    return sums[0]


def with_default(t, u, memory=[0.0]):  # noqa: B006  # what is to be found
    memory[0] += 1
    return memory[0]


def with_attribute(t, u):
    with_attribute.n = getattr(with_attribute, "n", 0) + 1
    return with_attribute.n


def by_helper(t, u):
    return summing_in_place(t, u)


class Shared:
    count = 0

    def __call__(self, t, u):
        Shared.count += 1
        return Shared.count


def enclosed(kind):
    n, box = 0, {"n": 0}

    def rebinds(t, u):
        nonlocal n
        n += 1
        return n

    def changes(t, u):
        box["n"] += 1
        return box["n"]

    return rebinds if kind == "rebinds" else changes


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (counting_global, "total"),
        (summing_in_place, "sums"),
        (with_default, "memory"),
        (with_attribute, r"with_attribute\.n"),
        (by_helper, "sums"),
        (Shared(), r"Shared\.count"),
        (enclosed("rebinds"), "n"),
        (enclosed("changes"), "box"),
    ],
)
def test_a_function_that_keeps_something_is_refused_by_the_name_of_the_variable(function, name):
    with pytest.raises(KeepsError, match=rf"(?s)keeps something in .*'{name}'.* memory=") as caught:
        own = OwnCopy(function, None)
        for _ in range(4):
            own.call(0.0, U)
    assert "test_callables.py:" in str(caught.value) or "Shared" in str(caught.value)


def test_what_begins_late_is_found_late():
    late = []

    def function(t, u):
        if t > 5 and late.append(t) is None:
            return float(len(late))
        return 0.0

    own = OwnCopy(function, None)
    with pytest.raises(KeepsError, match="'late'"):
        for k in range(100):
            own.call(float(k), U)


def test_notes_that_the_function_never_reads_are_its_own_business():
    def function(t, u):
        noted.append(t)
        return u

    own = OwnCopy(function, None)
    for k in range(4):
        own.call(float(k), U)
    assert noted[-4:] == [0.0, 1.0, 2.0, 3.0]


def test_what_a_function_keeps_while_it_runs_is_no_memory():
    def function(t, u):
        total = 0.0

        def add(x):
            nonlocal total
            total += x

        for x in (u[0], 2.0):
            add(x)
        return total

    own = OwnCopy(function, None)
    assert [own.call(float(k), U) for k in range(3)] == [U[0] + 2.0] * 3


def test_a_function_may_read_what_others_change():
    gains = [1.0]
    own = OwnCopy(lambda t, u: gains[0] * u, None)
    assert own.call(0.0, U) == 1.0
    gains[0] = 2.0
    assert own.call(0.0, U) == 2.0


def test_a_memory_the_function_reaches_elsewhere_is_found():
    memory = SUM
    own = OwnCopy(through_a_helper, memory)
    with pytest.raises(KeepsError, match=r"'SUM'|memory itself"):
        own.call(0.0, U)
    SUM.total, SUM.parts[0] = 0.0, 0.0


def test_what_cannot_be_copied_says_so_with_the_cure(tmp_path):
    class Logger:
        def __init__(self, file):
            self.file = file

        def __call__(self, t, u):
            return u

    with (
        open(tmp_path / "log", "w") as file,
        pytest.raises(BlockError, match=r"(?s)Logger.*cannot be copied.*TextIOWrapper.*__deepcopy__"),
    ):
        OwnCopy(Logger(file), None)
    with pytest.raises(BlockError, match="generator, cannot be copied"):
        OwnCopy((k for k in range(3)).send, None)


def test_what_cannot_be_saved_says_where():
    class Opens:
        def __init__(self):
            self.file = None

        def __call__(self, t, u):
            self.file = memoryview(b"")
            return u

    own = OwnCopy(Opens(), None)
    own.save()
    own.call(0.0, U)
    with pytest.raises(BlockError, match=r"'file' is a memoryview.*save\(\)"):
        own.save()


def test_a_copy_is_closed():
    closed = []

    class Device:
        def __deepcopy__(self, memo):
            return copy.copy(self)

        def __call__(self, t, u):
            return u

        def close(self):
            closed.append(1)

    OwnCopy(Device(), None).close()
    assert closed == [1]


def draws_from_random(t, u):
    return u + random.random()


def draws_from_numpy(t, u):
    return u + np.random.rand()  # noqa: NPY002


def draws_by_an_imported_function(t, u):
    return u + gauss(0.0, 1.0)


@pytest.mark.parametrize(
    ("function", "variable"),
    [
        (draws_from_random, "random"),
        (draws_from_numpy, "numpy.random"),
        (draws_by_an_imported_function, "gauss"),
    ],
)
def test_a_generator_that_everybody_shares_is_kept_by_nobody(function, variable):
    with pytest.raises(KeepsError, match=f"keeps something in '{variable}'"):
        OwnCopy(function, None).call(0.0, U)


counted = itertools.count()
made = (k for k in range(9))


@pytest.mark.parametrize(
    ("function", "variable"),
    [(lambda t, u: u + next(counted), "counted"), (lambda t, u: u + next(made), "made")],
)
def test_an_iterator_outside_is_used_up(function, variable):
    with pytest.raises(KeepsError, match=f"keeps something in '{variable}'"):
        OwnCopy(function, None)


def test_numpy_alone_and_files_written_to_are_fine(tmp_path):
    with (tmp_path / "notes.txt").open("w") as notes:
        assert OwnCopy(lambda t, u: (notes.write("x"), np.sin(u))[1], None).call(0.0, U) == np.sin(1.0)


def test_what_a_function_writes_once_is_found_in_that_call():
    def function(t, u):
        if not hasattr(function, "first"):
            function.first = t
        return u - function.first

    with pytest.raises(KeepsError, match=r"function\.first"):
        OwnCopy(function, None).call(1.0, U)


def test_functions_are_named_with_their_place():
    line = counting_global.__code__.co_firstlineno
    assert named(counting_global) == f"counting_global ({__file__}:{line})"
    assert named(Shared()) == "of class Shared"
    assert named(np.sin) == "sin"
