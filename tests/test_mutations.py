"""The tool that makes mistakes on purpose: what it changes, what it leaves alone, and its page."""

from __future__ import annotations

import ast
import os
from types import SimpleNamespace

import pytest

from blocks import Gain
from blocks.contract.trace import LIBRARY
from tests import mutations
from tests.mutating.changes import Change, in_c, in_python
from tests.mutating.covering import Covering, Noting
from tests.mutating.judging import Bench, Verdict, in_turn, named_in
from tests.mutating.page import NOT_RUN, PAGE, page, read, stale, with_reason, written
from tests.mutations import draw, files_of, mirrored

SOURCE = b'''"""A sum of 1 and 2."""
LIMIT: int | None = 3


def f(x: int | None, y: float = 0.5) -> float | None:
    if not x or y < 2:
        raise ValueError(f"{x + 1} is bad")
    return -g(x, y) + x * y - a[x, y]
'''
C = b"""/* a + b */
static int f(const double *a, int n)
{
    if (n <= 2 && !a) return -1; /* "n - 1" */
    return g(n, k) + n * 2;
}
"""


def texts(changes, source):
    return {change.applied(source) for change in changes}


def test_python_is_changed_where_it_runs():
    found = texts(in_python("f.py", SOURCE), SOURCE)
    for old, new in (
        (b"LIMIT: int | None = 3", b"LIMIT: int | None = 4"),
        (b"if not x or", b"if x or"),
        (b"not x or y < 2", b"(not x and y < 2)"),
        (b"y < 2", b"(y <= 2)"),
        (b"y < 2", b"(y > 2)"),
        (b"y: float = 0.5", b"y: float = 1.5"),
        (b"-g(x, y) +", b"g(x, y) +"),
        (b"g(x, y)", b"g(y, x)"),
        (b"x * y", b"(x / y)"),
        (b"a[x, y]", b"(a[y, x])"),
        (b"-g(x, y) + x * y - a[x, y]", b"(-g(x, y) + x * y)"),
    ):
        assert SOURCE.replace(old, new) in found, (old, new)


def test_annotations_messages_and_texts_are_left_alone():
    for change in in_python("f.py", SOURCE):
        after = change.applied(SOURCE)
        ast.parse(after)
        for kept in (
            b"1 and 2",
            b"int | None = ",
            b"x: int | None",
            b"-> float | None",
            b'f"{x + 1} is bad"',
        ):
            assert kept in after, change.described
    assert len({(c.start, c.stop, c.text) for c in in_python("f.py", SOURCE)}) == len(
        in_python("f.py", SOURCE)
    )


def test_lines_that_run_a_change():
    lines = {c.before: (c.lines, c.module_level) for c in in_python("f.py", SOURCE)}
    assert lines["3"] == ((2,), True)
    assert lines["x * y"] == ((8,), False)
    assert lines["y < 2"][0] == (6,)  # not the body of the condition


def test_c_is_changed_by_its_tokens():
    found = texts(in_c("f.c", C), C)
    for old, new in ((b"n <= 2", b"n < 2"), (b"<= 2", b"<= 3"), (b"&&", b"||"), (b"!a", b"a"),
                     (b"g(n, k)", b"g(k, n)"), (b"n * 2", b"n / 2"), (b") + n", b") - n")):  # fmt: skip
        assert C.replace(old, new, 1) in found, (old, new)
    for after in found:
        assert b"/* a + b */" in after and b'/* "n - 1" */' in after and b"const double *a, int n" in after


def test_draws_depend_on_seed_and_file_alone():
    file = "plant/mechanics/saddle.py"
    (first, every), (again, _), (other, _) = draw(file, 5, 1), draw(file, 5, 1), draw(file, 5, 2)
    assert first == again != other and len(first) == 5 < len(every)
    assert "cosim/engines/native/runtime/lu.c" in files_of(["cosim/engines/native"])
    with pytest.raises(SystemExit, match="no such file"):
        files_of(["plant/nobody.py"])


def verdict(text, outcome):
    return Verdict(Change("a.py", 1, 0, 1, "1", text, (1,), shown="x = 1 | 2"), outcome, "", 0.1)


def test_the_page_counts_and_keeps_reasons():
    drawn = [
        verdict("2", "caught"),
        verdict("0", "survived"),
        verdict("3", "not run"),
        verdict("4", "survived"),
    ]
    every = [verdict(str(k), "").change for k in range(9)]
    text = written("", "a.py", drawn, every, 1)
    files, survivors = read(text)
    assert (files["a.py"].possible, files["a.py"].drawn, files["a.py"].seed) == (9, 4, 1)
    assert "| `a.py` | 9 | 4 | 1 | 0 | 1 | 33 % | 1 |" in text
    assert [s.reason for s in survivors if s.change == drawn[2].change.described] == [NOT_RUN]
    text = with_reason(text, "a.py", drawn[1].change.described, "same: nobody looks at it")
    assert "| `a.py` | 9 | 4 | 1 | 1 | 1 | 50 % | 1 |" in text
    text = written(text, "a.py", [verdict("3", "caught"), verdict("4", "survived")], every, 1, again=True)
    assert "| `a.py` | 9 | 4 | 2 | 1 | 0 | 67 % | 1 |" in text
    assert "same: nobody looks at it" in written(text, "a.py", drawn, every, 1)


@pytest.mark.slow
def test_rows_of_files_that_changed_are_listed(monkeypatch, capsys, tmp_path):
    """Whatever can be changed in them, not where it stands nor what is said about it."""
    every = in_python("f.py", SOURCE)
    text = written("", "f.py", [verdict("2", "caught")], every, 1)
    moved = SOURCE.replace(b"a sum", b"the sum").replace(b"\nLIMIT", b"\n\n# a bound\nLIMIT")
    assert stale(text, {"f.py": every}) == stale(text, {"f.py": in_python("f.py", moved)}) == []
    for old, new in ((b"* y", b"* x"), (b" - a[x, y]", b"")):
        now = {"f.py": in_python("f.py", SOURCE.replace(old, new))}
        (said,) = stale(text, now)
        assert said == f"f.py: changed, 1 of {len(every)} drawn then, {len(now['f.py'])} possible now"
    assert stale(text, {"f.py": None}) == ["f.py: is gone and has a row"]
    assert stale(text, {"b.py": every, "c.py": []}) == [f"b.py: no row, {len(every)} changes possible"]
    monkeypatch.setattr(mutations, "PAGE", tmp_path / "mutations.md")
    (tmp_path / "mutations.md").write_text(text)
    assert mutations.main(["--stale", "plant/mechanics/saddle.py"]) == 0
    assert capsys.readouterr().out.startswith("plant/mechanics/saddle.py: no row, ")
    monkeypatch.setattr(mutations, "CORE", ("plant/mechanics",))
    assert mutations.main(["--stale"]) == 0
    assert "f.py: is gone and has a row" in capsys.readouterr().out


def test_the_page_is_what_its_rows_print():
    text = PAGE.read_text(encoding="utf-8")
    assert page(*read(text)) == text


class Told(Bench):
    """A bench whose runs are told by a table: which tests fail with the change, which without."""

    failing: tuple[set[str], set[str]] = (set(), set())

    def run(self, tests, limit, *options):
        failing = self.failing[(self.copy / "a.py").read_bytes() == b"1"]
        culprit = next((test for test in tests if test in failing), None)
        return (1, f"FAILED {culprit} - because") if culprit else (0, "2 passed")


def test_a_test_that_fails_without_the_change_notices_nothing(tmp_path):
    (tmp_path / "a.py").write_bytes(b"1")
    bench = Told(tmp_path, tmp_path)
    change = verdict("2", "").change
    for with_it, without, outcome in (
        ({"t::b"}, set(), "caught"),
        (set(), set(), "survived"),
        ({"t::a"}, {"t::a"}, "survived"),
        ({"t::a", "t::b"}, {"t::a"}, "caught"),
        ({"t::a", "t::b"}, {"t::a", "t::b"}, "not run"),
    ):
        bench.failing, bench.sound = (with_it, without), {}
        assert bench.judge(change, ["t::a", "t::b"], 1.0).outcome == outcome
        assert (tmp_path / "a.py").read_bytes() == b"1"
    assert (
        named_in("FAILED t.py::f[1-a b] - AssertionError", ["t.py::f", "t.py::f[1-a b]"]) == "t.py::f[1-a b]"
    )
    assert named_in("5 passed in 1 s", ["t.py::f"]) == ""


def test_a_file_that_cannot_be_read_without_the_change_notices_nothing(tmp_path):
    """Its error names no test; with the change alone it is one that the change makes."""
    (tmp_path / "a.py").write_bytes(b"1")
    bench = Told(tmp_path, tmp_path)
    for always, outcome in ((True, "not run"), (False, "caught")):
        bench.run = lambda *_, always=always: (
            (2, "ERROR t.py") if always or (tmp_path / "a.py").read_bytes() == b"2" else (0, "2 passed")
        )
        assert bench.judge(verdict("2", "").change, ["t.py::a"], 1.0).outcome == outcome


def test_who_takes_too_long_without_the_change_as_well_notices_nothing(tmp_path):
    """As on a busy machine."""
    (tmp_path / "a.py").write_bytes(b"1")
    bench = Told(tmp_path, tmp_path)
    for always, outcome in ((True, "not run"), (False, "caught")):
        bench.run = lambda *_, always=always: (
            (-9, "took more than 1 s")
            if always or (tmp_path / "a.py").read_bytes() == b"2"
            else (0, "2 passed")
        )
        assert bench.judge(verdict("2", "").change, ["t.py::a"], 1.0).outcome == outcome


def test_what_the_tests_of_c_do_not_notice_the_sanitizers_may(tmp_path):
    """CI runs both."""
    (tmp_path / "a.c").write_bytes(b"1")
    bench = Told(tmp_path, tmp_path)
    bench.run = lambda *_: (0, "2 passed")
    for found, outcome in ((True, "caught"), (False, "survived")):
        bench.unsound = lambda *_, found=found: found
        assert bench.judge(Change("a.c", 1, 0, 1, "1", "2", (1,)), ["t::a"], 1.0).outcome == outcome


def test_the_likeliest_file_is_tried_first():
    tests = ["a.py::a", "b.py::a", "b.py::b", "c.py::a"]
    assert in_turn(tests) == [["b.py::a", "b.py::b"], ["a.py::a", "c.py::a"]]
    assert in_turn(tests[:1]) == [["a.py::a"]] and in_turn([]) == []


def test_lines_that_run_at_import_are_tried_with_the_tests_of_their_folder():
    seconds = {
        "tests/plant/test_a.py::a": 1.0,
        "tests/plant/b/test_b.py::b": 1.0,
        "tests/c/test_c.py::c": 1.0,
    }
    known = Covering({("plant/b/x.py", 7): {"tests/c/test_c.py::c"}}, {}, {}, seconds)
    assert mirrored("plant/b/deeper/x.py", known) == "tests/plant/b/"
    assert mirrored("plant/other/x.py", known) == "tests/plant/"

    def chosen(line, module_level):
        change = Change("plant/b/x.py", line, 0, 1, "1", "2", (line,), module_level)
        return mutations.tests_for(change, known, 9.0)

    assert chosen(7, False) == ["tests/c/test_c.py::c"]
    assert chosen(7, True) == chosen(8, False) == ["tests/plant/b/test_b.py::b"]
    seconds[f"{mutations.DEFAULTS}::d"] = 1.0  # default values are looked at there
    assert chosen(7, True) == [f"{mutations.DEFAULTS}::d", "tests/plant/b/test_b.py::b"]
    assert chosen(8, False) == ["tests/plant/b/test_b.py::b"]


def test_changes_of_the_c_of_exported_units_are_tried_with_tests_that_build_units():
    """And with those beside them that call its functions by themselves."""
    tests = (
        "tests/cosim/fmi/export/test_a.py::a", "tests/cosim/engines/test_time.py::b",
        "tests/cosim/fmi/export/test_unit_memory.py::c",
    )  # fmt: skip
    known = Covering({}, {"cosim/fmi/export/binaries.py": {tests[0]}}, {}, dict.fromkeys(tests, 1.0))
    change = Change("cosim/fmi/export/unit/unit.c", 1, 0, 1, "1", "2", (1,))
    assert mutations.tests_for(change, known, 9.0) == [tests[2], tests[0]]
    assert mirrored(change.file, known) == "tests/cosim/fmi/export/"
    assert all((mutations.ROOT / file).exists() for pair in mutations.MAKERS.items() for file in pair)


def test_changes_of_c_are_tried_with_the_rules_of_time_on_the_native_engine(tmp_path, monkeypatch):
    assert mutations.runs_c("tests/cosim/engines/test_time.py")
    assert mutations.runs_c("tests/cosim/engines/test_runtime_parts.py")
    assert not mutations.runs_c("tests/plant/mechanics/test_tree.py")
    seconds = dict.fromkeys(
        ("tests/cosim/engines/test_time.py::a", "tests/plant/mechanics/test_tree.py::b"), 1.0
    )
    known = Covering({}, {}, {}, seconds)
    in_c_file = Change("cosim/engines/native/runtime/lu.c", 1, 0, 1, "1", "2", (1,))
    assert mutations.tests_for(in_c_file, known, 9.0) == ["tests/cosim/engines/test_time.py::a"]
    monkeypatch.setenv("PLANTLOOP_TEST_ENGINE", "")
    for file, engine in (("a.c", "auto"), ("a.py", "reference")):
        (tmp_path / file).write_bytes(b"1")
        seen = []
        bench = Told(tmp_path, tmp_path)
        bench.unsound = lambda *_: False
        bench.run = lambda *_, seen=seen: (seen.append(os.environ["PLANTLOOP_TEST_ENGINE"]), (0, ""))[1]
        bench.judge(Change(file, 1, 0, 1, "1", "2", (1,)), ["t::a"], 1.0)
        assert seen == [engine]


def test_each_test_is_seen_to_run_the_equations_that_others_traced_before():
    """Blocks of one shape share what was traced: the second test would be taken not to run them."""
    noting = object.__new__(Noting)
    noting.seen = SimpleNamespace(switch_context=lambda name: None)
    first = LIBRARY.get(Gain(2.0), {"u": 1})
    assert LIBRARY.get(Gain(3.0), {"u": 1}) is first
    next(noting.pytest_runtest_protocol(SimpleNamespace(nodeid="a test")))
    assert LIBRARY.get(Gain(3.0), {"u": 1}) is not first
