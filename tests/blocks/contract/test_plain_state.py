"""Data of objects as bytes and back: what comes back goes on as the original does."""

import copy
import random
from collections import defaultdict, deque
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest

from blocks.contract.plain_state import NotPlain, encode, fingerprint, restore


class Side(Enum):
    LEFT = 1
    RIGHT = 2


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 0.1, [1, 2]


class Everything:
    """Keeps something of every kind, some of it twice, and itself."""

    def __init__(self):
        self.inner, self.list = Slotted(), [1, (2.0, 3j), b"raw"]
        self.same, self.itself, self.function = self.list, self, len
        self.dict, self.default = {"x": deque([1], 3), 2: {4, 5}}, defaultdict(list)
        self.generator, self.random = np.random.default_rng(1), random.Random(3)
        self.legacy = np.random.RandomState(5)
        self.array = np.arange(4.0)
        self.view = self.array[1:]
        self.exact, self.side = (Fraction(1, 3), Decimal("0.1"), np.float32(0.1)), Side.LEFT

    def step(self):
        self.inner.a += 0.1
        self.inner.b.append(7)
        self.list.append([3])
        self.dict["x"].append(9)
        self.array += 1
        self.default["q"].append(self.array[0])
        self.new, self.side = 3, Side.RIGHT
        self.exact = (self.exact[0] + 1, self.exact[1] * 2, self.exact[2])
        draws = [self.generator.random(), self.random.random(), self.legacy.rand()]
        return [*draws, self.view[0], len(self.same), self.inner.a, *self.dict["x"], *self.exact]


def test_what_is_restored_goes_on_as_the_original_does():
    original = Everything()
    start = encode(original)
    first = original.step()
    middle = encode(original)
    second = original.step()
    restore(middle, original)
    assert original.step() == second
    other = Everything()  # as in another process
    restore(middle, other)
    assert other.same is other.list and other.itself is other and other.side is Side.RIGHT
    assert other.step() == second
    restore(start, other)
    assert not hasattr(other, "new")
    assert other.step() == first


class Labelled(list):
    """A list with attributes of its own."""


class Measured:
    def __init__(self):
        self.gain, self.row = complex(0.1, -0.7), Labelled([1, 2.5])
        self.row.unit = "m"


def test_both_parts_of_a_number_and_what_a_list_has_beside_come_back():
    kept = Measured()
    state = encode(kept)
    kept.gain = 0j
    kept.row.append(3)
    kept.row.unit, kept.row.new = "s", 1
    kept.later = 2
    restore(state, kept)
    assert kept.gain == complex(0.1, -0.7) and not hasattr(kept, "later")
    assert kept.row == [1, 2.5] and vars(kept.row) == {"unit": "m"}


def test_a_fingerprint_changes_with_the_data_and_only_then():
    original = Everything()
    before = fingerprint(original)
    assert fingerprint(original) == before
    original.inner.b[0] += 1
    assert fingerprint(original) != before
    original.inner.b[0] -= 1
    assert fingerprint(original) == before
    original.generator.random()
    assert fingerprint(original) != before


def test_what_is_no_data_is_named_by_its_place(tmp_path):
    thing = Everything()
    with open(tmp_path / "log", "w") as file:
        thing.dict["files"] = [file]
        with pytest.raises(NotPlain, match=r"dict\['files'\]\[0\]' is a TextIOWrapper"):
            encode(thing)
        fingerprint(thing)  # counts it by identity


@pytest.mark.parametrize(
    "state",
    [b"", b"x", b'["array", "<f8", [3], "AAAA"]', b'["object", "Other", {}]', b'["same", 7]', b"[3]"],
)
def test_nonsense_is_refused(state):
    with pytest.raises(NotPlain):
        restore(state, Slotted())


def test_a_deep_copy_is_of_the_same_state():
    thing = Everything()
    thing.step()
    assert encode(copy.deepcopy(thing)) == encode(thing)
