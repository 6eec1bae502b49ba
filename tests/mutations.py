"""Would the tests notice a mistake? Single changes in our files, and whether the tests that run them fail.

By hand or at night, not in CI:

    python -m tests.mutations plant/mechanics/saddle.py cosim/run --count 10 --seed 1 --write

draws ten changes of each file (of folders: of every file in them), makes one after the other on a copy of
the checkout, and runs the tests that run the changed line, those that mirror the file's folder first,
shortest first, until one fails. Which tests run which lines is found once, by running each test file under
coverage (`pip install coverage`), and kept in `--cache`. Files of the C runtime have no coverage: the tests
that call the native engine or functions of it are run, and the sanitizers on what those do not notice.
`--write` puts the shares and what survived into docs/mutations.md; reasons written there stay. `--stale` runs
nothing: it lists the files that have changed since their row was written, and those without one.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import multiprocessing
import os
import random
import sys
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

from tests.mutating.changes import Change, changes_of
from tests.mutating.covering import Covering, covering
from tests.mutating.judging import Bench, Verdict, load_libraries
from tests.mutating.page import PAGE, drawn_again, read, stale, written

ROOT = Path(__file__).parents[1]
CORE = (
    "plant/mechanics", "plant/constraints", "plant/forces", "plant/elements/forces", "plant/assembly",
    "plant/equations", "plant/expressions", "plant/gamma_q", "cosim/compile", "cosim/run", "cosim/analysis",
    "cosim/engines", "cosim/fmi/coupling", "cosim/fmi/export", "blocks/contract", "blocks/library",
)  # fmt: skip
TESTS = ("tests/blocks", "tests/plant", "tests/cosim", "tests/systems")
DEFAULTS = "tests/test_signatures.py"  # what runs at import is default values of fields more often than not
CHOICE = "from tests.helpers.runs import"
PARTS = "from tests.helpers.runtime_parts import"  # tests that call C by themselves
# tests that run these run the C of a folder
MAKERS = {
    "cosim/engines/native/runtime": "cosim/engines/native/native.py",
    "cosim/fmi/export/unit": "cosim/fmi/export/binaries.py",
}
MOST = 400  # tests for one change
SLOWER = 8.0  # how much longer than it was measured a run may take: machines are busy


def files_of(names: list[str]) -> list[str]:
    """Python and C files of files and folders."""
    found = []
    for name in names:
        path = ROOT / name
        inside = [path] if path.is_file() else sorted([*path.rglob("*.py"), *path.rglob("*.c")])
        if not inside:
            raise SystemExit(f"{name}: no such file or folder in {ROOT}")
        found += [file.relative_to(ROOT).as_posix() for file in inside]
    return found


def test_files(names: list[str]) -> list[str]:
    """Test files of files and folders."""
    found = []
    for name in names:
        path = ROOT / name
        found += [path] if path.is_file() else sorted(path.rglob("test_*.py"))
    return [file.relative_to(ROOT).as_posix() for file in found]


def draw(file: str, count: int, seed: int) -> tuple[list[Change], list[Change]]:
    """Changes of a file, drawn by the seed and the file's name alone; and all there are."""
    every = changes_of(ROOT, file)
    generator = random.Random(seed * 2**32 + zlib.crc32(file.encode()))
    chosen = generator.sample(every, min(count, len(every)))
    return sorted(chosen, key=lambda change: change.start), every


def mirrored(file: str, known: Covering) -> str:
    """The folder of tests that mirrors the folder of a file, or the nearest one around it that has tests."""
    folder = file.rpartition("/")[0].replace("/native/runtime", "").replace("/export/unit", "/export")
    while folder and not any(test.startswith(f"tests/{folder}/") for test in known.seconds):
        folder = folder.rpartition("/")[0]
    return f"tests/{folder}/" if folder else "tests/"


@functools.cache
def runs_c(file: str) -> bool:
    """Whether tests run C: PLANTLOOP_TEST_ENGINE chooses their engine, or they call functions of it."""
    text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).exists() else ""
    return CHOICE in text or PARTS in text


def tests_for(change: Change, known: Covering, budget: float) -> list[str]:
    """Tests that run a change, likely and short ones first, as many as the budget (s) allows."""
    near = mirrored(change.file, known)
    if change.file.endswith(".c"):
        folder = change.file.rpartition("/")[0]
        found = set(known.by_file.get(MAKERS.get(folder, ""), set()))
        calling = {t for t in known.seconds if runs_c(t.partition("::")[0])}
        found |= {t for t in calling if folder.endswith("/runtime") or t.startswith(near)}
    else:
        found = set() if change.module_level else known.of(change.file, change.lines)
        if not found:  # it may run when the file is imported: for tests of the file and of its folder
            found = known.by_file.get(change.file, set()).union(
                t for t in known.seconds if t.startswith(near)
            )
    name = Path(change.file).stem

    def order(test: str) -> tuple[int, float, str]:
        file = test.partition("::")[0]
        return (
            (0 if name in Path(file).stem else 1 if file.startswith(near) else 2),
            known.seconds[test],
            test,
        )

    chosen: list[str] = []
    left = budget
    for test in sorted(found, key=order):
        if known.seconds[test] <= left and len(chosen) < MOST:
            chosen.append(test)
            left -= known.seconds[test]
    first = [test for test in known.seconds if change.module_level and test.startswith(f"{DEFAULTS}::")]
    return [*first, *(test for test in chosen if test not in first)]


def outdated(names: list[str]) -> list[str]:
    """What `--stale` lists: of the files named, and, where that is the core, of all that have a row."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    files = {*files_of(names), *(read(text)[0] if tuple(names) == CORE else ())}
    return stale(text, {f: changes_of(ROOT, f) if (ROOT / f).exists() else None for f in files})


BENCH: Bench | None = None


def judged(change: Change, tests: list[str], limit: float) -> Verdict:
    """In a worker: its own copy of the checkout, made when it is first needed."""
    global BENCH
    if BENCH is None:
        copy = Path(os.environ["MUTATING"]) / str(os.getpid())
        copy.mkdir()
        BENCH = Bench(ROOT, copy)
        BENCH.make()
    return BENCH.judge(change, tests, limit)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__.splitlines()[0])
    parser.add_argument(
        "files", nargs="*", default=list(CORE), help="files and folders; the core if none is given"
    )
    parser.add_argument("--count", type=int, default=10, help="changes drawn of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="changes tried at the same time")
    parser.add_argument("--budget", type=float, default=40.0, help="s of tests for one change, as measured")
    parser.add_argument(
        "--tests", nargs="*", default=list(TESTS), help="test files and folders to choose from"
    )
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "plantloop-covering")
    parser.add_argument("--again", action="store_true", help="only changes the page lists as survivors")
    parser.add_argument("--write", action="store_true", help="write docs/mutations.md")
    parser.add_argument("--stale", action="store_true", help="list files whose row is old or missing; no run")
    asked = parser.parse_args(arguments)
    if asked.stale:
        print("\n".join(outdated(asked.files)))
        return 0
    environment = dict(os.environ) | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
    known = covering(ROOT, test_files([*asked.tests, DEFAULTS]), asked.cache, environment)
    load_libraries()
    files = files_of(asked.files)
    caught_all = 0
    with tempfile.TemporaryDirectory(prefix="mutating-") as folder:
        os.environ["MUTATING"] = folder
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(asked.jobs, mp_context=context) as pool:
            for file in files:
                drawn, every = draw(file, asked.count, asked.seed)
                if asked.again:
                    drawn = drawn_again(file, every)
                if not drawn:
                    continue
                waiting = []
                for change in drawn:
                    tests = tests_for(change, known, asked.budget)
                    limit = 20.0 + SLOWER * sum(known.seconds[test] for test in tests)
                    waiting.append(
                        (change, tests, pool.submit(judged, change, tests, limit) if tests else None)
                    )
                verdicts = [
                    job.result() if job else Verdict(change, "not run", "no test runs this line", 0.0)
                    for change, tests, job in waiting
                ]
                verdicts = [
                    v if v.outcome == "caught" or known.reach(v.change) else replace(v, outcome="not run")
                    for v in verdicts
                ]
                caught = sum(verdict.outcome == "caught" for verdict in verdicts)
                caught_all += caught
                seconds = sum(verdict.seconds for verdict in verdicts)
                print(
                    f"{file}: {caught} of {len(drawn)} caught, {len(every)} possible, {seconds:.0f} s",
                    flush=True,
                )
                for verdict, (_, tests, _) in zip(verdicts, waiting, strict=True):
                    if verdict.outcome != "caught":
                        change = verdict.change
                        place = f"{file}:{change.line}"
                        print(f"   {place} {change.described}: {verdict.outcome} ({len(tests)} tests)")
                if asked.write:
                    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
                    PAGE.write_text(
                        written(text, file, verdicts, every, asked.seed, again=asked.again),
                        encoding="utf-8",
                    )
    return 0 if caught_all else 1


if __name__ == "__main__":
    sys.exit(main())
