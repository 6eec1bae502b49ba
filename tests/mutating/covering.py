"""Which tests run which lines: one run of each test file under coverage, kept until a test or source changes.

As a pytest plugin (`-p tests.mutating.covering`, with COVERED_BY naming the file to write) it notes the lines
of our packages that each test runs, set-up included; `Covering` reads what was noted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.mutating.changes import Change

PACKAGES = ("blocks", "plant", "cosim")
LIMIT = 900  # s for one test file


class Noting:
    """The plugin: switches the context of coverage with every test, and writes what was seen."""

    def __init__(self, target: Path, root: Path) -> None:
        import coverage

        self.target, self.root = target, root
        self.passed: dict[str, float] = {}
        self.failed: set[str] = set()
        self.seen = coverage.Coverage(
            data_file=None, config_file=False, source=[str(root / name) for name in PACKAGES], messages=False
        )
        self.seen.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item):  # type: ignore[no-untyped-def]
        """Lines from here on belong to this test, those of equations that others traced too."""
        self.seen.switch_context(item.nodeid)
        if (trace := sys.modules.get("blocks.contract.trace")) is not None:
            trace.LIBRARY._found.clear()
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Only tests that pass can notice something."""
        if not report.passed:
            self.failed.add(report.nodeid)
        self.passed[report.nodeid] = self.passed.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        """Write it down."""
        self.seen.stop()
        data = self.seen.get_data()
        tests = sorted(set(self.passed) - self.failed)
        number = {test: k for k, test in enumerate(tests)}
        lines: dict[str, dict[int, list[int]]] = {}
        for file in data.measured_files():
            by_line = data.contexts_by_lineno(file)
            lines[Path(file).relative_to(self.root).as_posix()] = {
                line: sorted(number[c] for c in contexts if c in number) for line, contexts in by_line.items()
            }
        seconds = [round(self.passed[t], 4) for t in tests]
        hashes = {file: content(self.root / file) for file in lines}
        found = {"tests": tests, "seconds": seconds, "lines": lines, "hashes": hashes}
        self.target.write_text(json.dumps(found), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Begin before the packages are imported."""
    if os.environ.get("COVERED_BY"):
        config.pluginmanager.register(Noting(Path(os.environ["COVERED_BY"]), Path(config.rootpath)), "noting")


def content(file: Path) -> str:
    """A short hash of what a file holds; of none where it is gone."""
    return sha256(file.read_bytes()).hexdigest()[:12] if file.exists() else ""


@dataclass(frozen=True)
class Covering:
    """Tests by the lines they run; `by_file`: by any line of a file.

    `moved` : tests that ran a file before it changed, so that their lines are not known
    """

    by_line: dict[tuple[str, int], set[str]]
    by_file: dict[str, set[str]]
    moved: dict[str, set[str]]
    seconds: dict[str, float]

    def of(self, file: str, lines: tuple[int, ...]) -> set[str]:
        """Tests that run one of these lines."""
        return self.moved.get(file, set()).union(*(self.by_line.get((file, line), set()) for line in lines))

    def reach(self, change: Change) -> bool:
        """Whether tests run a change, as far as one can know: not of C, nor of what runs at import."""
        return change.module_level or change.file.endswith(".c") or bool(self.of(change.file, change.lines))


def note(root: Path, test: str, target: Path, environment: dict[str, str]) -> bool:
    """Run a test file under coverage; whether it was written."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-n", "0"]
    command += ["-p", "tests.mutating.covering", test]
    try:
        subprocess.run(
            command, cwd=root, env=environment | {"COVERED_BY": str(target)}, timeout=LIMIT, check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return target.exists()


def covering(root: Path, tests: list[str], cache: Path, environment: dict[str, str]) -> Covering:
    """Run the test files whose lines are not known yet, and put all together."""
    if find_spec("coverage") is None:
        raise SystemExit(
            "coverage is not installed, and finds out which tests run a line: pip install coverage"
        )
    cache.mkdir(parents=True, exist_ok=True)
    by_line: dict[tuple[str, int], set[str]] = defaultdict(set)
    by_file: dict[str, set[str]] = defaultdict(set)
    moved: dict[str, set[str]] = defaultdict(set)
    seconds: dict[str, float] = {}
    hashes: dict[str, str] = {}
    for test in tests:
        target = cache / f"{test.replace('/', '-')}-{content(root / test)}.json"
        if not target.exists():
            print(f"lines of {test}", flush=True)
            if not note(root, test, target, environment):
                print(f"   did not end within {LIMIT} s: left out", flush=True)
                continue
        found = json.loads(target.read_text(encoding="utf-8"))
        names = found["tests"]
        seconds |= dict(zip(names, found["seconds"], strict=True))
        for file, lines in found["lines"].items():
            if file not in hashes:
                hashes[file] = content(root / file)
            same = hashes[file] == found["hashes"][file]
            for line, numbers in lines.items():
                running = [names[k] for k in numbers]
                by_file[file].update(running)
                if same:
                    by_line[file, int(line)].update(running)
                else:
                    moved[file].update(running)
    return Covering(by_line, by_file, moved, seconds)
