"""What of a model besides its equations makes results others: code, values and files, down to some depth."""

import collections
import dataclasses
import enum
import fractions
import functools
import importlib
import sys
import threading
from functools import partial

import casadi as ca
import numpy as np
import pandas as pd
import pytest

from blocks import Gain
from blocks.contract.callback import PythonCall
from cosim.study.model_fingerprint import DEPTH, as_texts


def texts(value):
    return list(as_texts(value))


def nested(value, levels):
    for _ in range(levels):
        value = [value]
    return value


def test_numbers_are_looked_at_many_levels_deep_and_no_further():
    assert texts(nested(1.0, DEPTH)) != texts(nested(2.0, DEPTH))
    assert texts(nested(1.0, DEPTH + 1)) == texts(nested(2.0, DEPTH + 1))
    round_and_round = []
    round_and_round.append(round_and_round)
    assert texts(round_and_round) == ["list", "list", "number 0 again"]


def test_which_object_comes_again_counts():
    a, b = [1], [1]
    assert texts([a, b, a]) != texts([a, b, b])
    both = (a, b)
    for _ in range(30):  # each level twice: 2^30 texts without a note of what was there
        both = (both, both)
    assert len(texts(both)) < 200


@dataclasses.dataclass
class Pair:
    a: float
    b: object


def scaled(k):
    return lambda t, u: k * u


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        (1, 1.0),
        (1, True),
        ("a", "b"),
        (b"a", b"b"),
        (None, 0),
        ([1, 2], [2, 1]),
        ([1], (1,)),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        (np.zeros(2), np.zeros((2, 1))),
        (np.zeros(2), np.ones(2)),
        (np.float32(1), np.float64(1)),
        (partial(max, 1), partial(max, 2)),
        (partial(max, key=abs), partial(max)),
        (scaled(1.0), scaled(2.0)),
        (lambda t, u: u, lambda t, u: -u),
        (lambda u=1: u, lambda u=2: u),
        (Pair(1.0, 2.0), Pair(2.0, 2.0)),
        (Pair(1.0, [1]), Pair(1.0, [2])),
        (Gain(1.0), Gain(2.0)),
        (PythonCall("f", scaled(1.0), 1, 1), PythonCall("f", scaled(2.0), 1, 1)),
        (PythonCall("f", scaled(1.0), 1, 1), PythonCall("f", scaled(1.0), 1, 1, jacobian=scaled(1.0))),
    ],
)
def test_what_differs_has_other_texts(one, other):
    assert texts(one) != texts(other)


def test_what_is_alike_has_the_same_texts():
    for make in (lambda: Pair(1.0, [np.arange(3)]), lambda: scaled(3.0), lambda: Gain([1.0, 2.0])):
        assert texts(make()) == texts(make())


SOURCES = {
    "a number in a comprehension": "K = {}\ndef f(t, u): return [K * x for x in u]",
    "a number in a function inside": "K = {}\ndef f(t, u): return (lambda x: K * x)(u)",
    "a function in a comprehension": "def g(x): return {} * x\ndef f(t, u): return [g(x) for x in u]",
    "a list of the module": "K = [{}]\ndef f(t, u): return K[0] * u",
    "an array of the module": "K = np.array([{}])\ndef f(t, u): return K[0] * u",
    "a dict of the module": "K = {{'a': {}}}\ndef f(t, u): return K['a'] * u",
    "a set": "def f(t, u): return u in {{{}, 5}}",
    "a keyword's default": "def f(t, u, *, k={}): return k * u",
    "an object's attribute": "class C:\n    def __call__(self, t, u): return self.k * u\nf = C()\nf.k = {}",
    "an object's slot": (
        "class C:\n    __slots__ = ('k',)\n    def __call__(self, t, u): return self.k\nf = C()\nf.k = {}"
    ),
    "a method": "class C:\n    def __call__(self, t, u): return {} * u\nf = C()",
    "a method behind a method": (
        "class C:\n    def g(self, u): return {} * u\n    def f(self, t, u): return self.g(u)\nf = C().f"
    ),
    "an object of the module": "class C: pass\nP = C()\nP.k = {}\ndef f(t, u): return P.k * u",
    "a class attribute": "class C:\n    k = {}\n    def __call__(self, t, u): return self.k * u\nf = C()",
    "a class attribute above": (
        "class B:\n    k = {}\nclass C(B):\n    def __call__(self, t, u): return self.k * u\nf = C()"
    ),
    "a method above": "class B:\n    def __call__(self, t, u): return {}\nclass C(B): pass\nf = C()",
    "a class of the module": "class C:\n    k = {}\ndef f(t, u): return C.k * u",
    "a static method": (
        "class C:\n    @staticmethod\n    def g(u): return {} * u\n"
        "    def __call__(self, t, u): return self.g(u)\nf = C()"
    ),
    "a property": (
        "class C:\n    @property\n    def k(self): return {}\n"
        "    def __call__(self, t, u): return self.k\nf = C()"
    ),
    "a class attribute of a dataclass": (
        "@dataclasses.dataclass\nclass C:\n    a: float = 1.0\n    k = {}\n"
        "    def __call__(self, t, u): return self.k\nf = C()"
    ),
    "a cached function": "@functools.lru_cache\ndef g(u): return {} * u\ndef f(t, u): return g(u)",
    "a table": "K = pd.DataFrame({{'a': [1.0, {}]}})\ndef f(t, u): return K.a[1] * u",
    "a table's column": "K = pd.DataFrame({{'a{}': [1.0, 2.0]}})\ndef f(t, u): return K.iloc[0] * u",
    "a column of texts": "K = pd.Series(['a', 'b{}'])\ndef f(t, u): return K[1]",
    "a table's index": "K = pd.Series([1.0, 2.0], [0.0, {}])\ndef f(t, u): return K[2.0] * u",
    "an array of objects": "K = np.array([1, '{}'], dtype=object)\ndef f(t, u): return K[1]",
    "a fraction": "K = fractions.Fraction({}, 7)\ndef f(t, u): return K * u",
    "a dict that counts": "K = collections.Counter(a={})\ndef f(t, u): return K['a'] * u",
    "a queue": "K = collections.deque([{}])\ndef f(t, u): return K[0] * u",
    "a named tuple": "C = collections.namedtuple('C', 'k')\nK = C({})\ndef f(t, u): return K.k * u",
    "an enumeration": "class C(enum.Enum):\n    K = {}\ndef f(t, u): return C.K.value * u",
    "a generator's seed": "class C: pass\nf = C()\nf.draws = np.random.default_rng({})",
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_what_a_function_uses_is_looked_at(source):
    """With another number there a study went on, half of its cases with the one and half with the other."""

    def found(number):
        module = {m.__name__: m for m in (collections, dataclasses, enum, fractions, functools)}
        module |= {"np": np, "pd": pd, "__name__": "users"}
        exec(source.format(number), module)
        return texts(module["f"])

    assert found(1) == found(1) != found(2)


@pytest.mark.parametrize(
    ("imports", "use"),
    [
        ("import users_law", "users_law.law(u)"),
        ("from users_law import law", "law(u)"),
        ("import users_law", "users_law.K * u"),
        ("from users_law import Law", "Law.k * u"),
    ],
)
def test_users_modules_are_looked_at(tmp_path, monkeypatch, imports, use):
    """A study went on after a change in a module that its own one imports."""

    def found(number):
        text = "K = {0}\ndef law(u): return K * u\nclass Law:\n    k = {0}\n"
        (tmp_path / "users_law.py").write_text(text.format(number))
        sys.modules.pop("users_law", None)
        importlib.invalidate_caches()
        module = {"__name__": "users"}
        exec(f"{imports}\ndef f(t, u): return {use}", module)
        return texts(module["f"])

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    try:
        assert found(1) == found(1) != found(2)
    finally:
        sys.modules.pop("users_law", None)


def test_installed_functions_are_not_looked_at():
    names = "def f(t, u): return np.linspace(0, 1, 3) + np.fft.fft(u) + pd.DataFrame(u)"
    module = {"np": np, "pd": pd, "__name__": "users"}
    exec(names, module)
    assert len(texts(module["f"])) < 60
    assert texts(np.linspace)[-1] != texts(np.interp)[-1] and len(texts(np.linspace)) < 40


class Linked:
    """It and its other refer to each other, and it holds what files do not keep."""

    def __init__(self, k):
        self.k, self.lock, self.other = k, threading.Lock(), Linked.__new__(Linked)
        self.other.other, self.other.k = self, [self] * 20

    def __getstate__(self):
        return {n: v for n, v in vars(self).items() if n != "cache"}


def test_objects_that_refer_to_each_other_and_what_is_not_pickled():
    one, other = Linked(1.0), Linked(1.0)
    one.cache = 7.0
    assert texts(one) == texts(other) != texts(Linked(2.0))
    assert len(texts(one)) < 150


def test_methods_of_installed_classes_are_not_looked_at():
    table = pd.DataFrame({"a": [1.0, 2.0]})
    assert texts(table) == texts(table.copy()) and len(texts(table)) < 100


def test_a_function_in_equations_counts_by_its_code_wherever_it_lies_in_memory():
    """Its address was part of it, and derivatives asked for: no other process went on with a study."""
    one, other = (PythonCall("f", scaled(1.0), 1, 1, jacobian=scaled(2.0)) for _ in range(2))
    other.jacobian()
    assert texts(one) == texts(other)
    t, u = ca.MX.sym("t"), ca.MX.sym("u")
    assert ca.Function("f", [t, u], [other(t, u)])(0.0, 3.0) == 3.0


def test_files_count_by_their_content(tmp_path):
    for name, content in (("a.txt", "1"), ("b.txt", "1"), ("c.txt", "2")):
        (tmp_path / name).write_text(content)
    a, b, c = (tmp_path / f"{name}.txt" for name in "abc")
    assert texts(a) == texts(b) != texts(c) and texts(str(a)) == texts(str(b)) != texts(str(c))
    assert texts(tmp_path / "gone.txt")[-1] == "gone.txt"
