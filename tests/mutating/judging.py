"""Do the tests notice a change? Tried on a copy of the checkout, in a process forked for each change."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutating.changes import Change

PARTS = ("blocks", "plant", "cosim", "tests", "examples", "benchmarks", "docs", "pyproject.toml", "README.md",
         "ARCHITECTURE.md", "CHANGELOG.md")  # fmt: skip
# libraries that tests load, once for all children
LIBRARIES = (
    "numpy", "scipy.signal", "scipy.optimize", "scipy.integrate", "casadi", "control", "networkx",
    "lxml.etree", "hypothesis", "lark", "cffi", "pytest", "pint", "xarray", "netCDF4", "typer",
)  # fmt: skip
NOTHING_RAN, NO_SUCH_TEST, OTHER_TREE, TOO_LONG = 5, 4, 77, -9
SANITIZED = 900.0  # s that the sanitizers may take beside
LIKELY = 60  # tests of the front among which the file that has most is looked for
SHOWN = 400  # characters of the last lines kept of a failing run


@dataclass(frozen=True)
class Verdict:
    """What became of a change: "caught", "survived" or "not run", by what, and the seconds it took."""

    change: Change
    outcome: str
    by: str
    seconds: float


def load_libraries() -> None:
    """Import what is not ours, so that a forked child has it."""
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue


@dataclass
class Bench:
    """A copy of the checkout in which changes are made and taken back."""

    root: Path
    copy: Path
    sound: dict[tuple[str, str], bool] = field(default_factory=dict)  # by engine and test: passes as it is?

    def make(self) -> None:
        """Copy what is tested and the tests, with compiled modules that are checked by their content."""
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        for part in PARTS:
            source, target = self.root / part, self.copy / part
            if source.is_dir():
                shutil.copytree(source, target, ignore=ignored)
            elif source.exists():
                shutil.copy2(source, target)
        subprocess.run(
            [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", *PARTS[:4]],
            cwd=self.copy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    def judge(self, change: Change, tests: list[str], limit: float) -> Verdict:
        """Run tests with a change made, until one fails; to take `limit` s of wall time is to fail.

        What failed has to pass without the change; else the others are asked. The rules of time are run on
        the engine that CI takes for them.
        """
        began = time.monotonic()
        os.environ["PLANTLOOP_TEST_ENGINE"] = "auto" if change.file.endswith(".c") else "reference"
        outcome, by = "not run", "no test was chosen"
        for some in in_turn(tests):
            found, by = self.noticed(change, some, limit)
            outcome = found if found != "not run" else outcome
            if outcome == "caught":
                break
        if outcome == "survived" and change.file.endswith(".c") and self.unsound(change, limit):
            outcome, by = "caught", "the sanitizers"
        return Verdict(change, outcome, by, time.monotonic() - began)

    def noticed(self, change: Change, tests: list[str], limit: float) -> tuple[str, str]:
        """The outcome with these tests, and by what."""
        file = self.copy / change.file
        source = file.read_bytes()
        while tests:
            file.write_bytes(change.applied(source))
            try:
                code, by = self.run(tests, limit)
            finally:
                file.write_bytes(source)
            culprit = named_in(by, tests)
            ended = code <= 0 and code != TOO_LONG  # who took too long may do so without the change as well
            if ended or (self.passes(culprit, limit) if culprit else self.run(tests, limit)[0] == 0):
                break
            tests = [test for test in tests if culprit and test != culprit]
        else:
            return "not run", "no test passes as it is"
        if code in (NOTHING_RAN, OTHER_TREE):
            return "not run", by
        return "survived" if code == 0 else "caught", by

    def unsound(self, change: Change, limit: float) -> bool:
        """Do the sanitizers find something in C with a change made, as CI runs them?"""
        file = self.copy / change.file
        source = file.read_bytes()
        file.write_bytes(change.applied(source))
        try:
            found = subprocess.run(
                [sys.executable, "-m", "tests.security.sanitized"], cwd=self.copy, timeout=SANITIZED + limit,
                env=os.environ | {"PYTHONPATH": str(self.copy)}, check=False,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return True
        finally:
            file.write_bytes(source)
        return found.returncode != 0

    def passes(self, test: str, limit: float) -> bool:
        """Does a test pass on the copy as it is? Found once."""
        key = (os.environ.get("PLANTLOOP_TEST_ENGINE", ""), test)
        if key not in self.sound:
            self.sound[key] = self.run([test], limit)[0] == 0
        return self.sound[key]

    def run(self, tests: list[str], limit: float, *options: str) -> tuple[int, str]:
        """Exit code of pytest (TOO_LONG where it did), and what it said last."""
        log = self.copy / "run.log"
        child = os.fork()
        if child == 0:
            code = 3
            try:
                code = self.inside(tests, log, options)
            finally:
                os._exit(code)
        until = time.monotonic() + limit
        while time.monotonic() < until:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), last_words(log)
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return TOO_LONG, f"took more than {limit:.0f} s"

    def inside(self, tests: list[str], log: Path, options: tuple[str, ...]) -> int:
        """In the child: pytest on the copy."""
        os.setsid()
        sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(self.copy)
        ours = ("tests", "blocks", "plant", "cosim")
        for name in [n for n in sys.modules if n.partition(".")[0] in ours]:
            del sys.modules[name]
        sys.path[:] = [str(self.copy), *(p for p in sys.path if Path(p or ".").resolve() != self.root)]
        sys.dont_write_bytecode = True
        os.environ |= {"PYTHONPATH": str(self.copy), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
        import pytest

        temporary = f"--basetemp={self.copy / 'temporary'}"
        off = ["-p", "no:cacheprovider", "-p", "no:randomly", "-n", "0"]
        code = int(pytest.main(["-q", "-x", "--tb=line", "--no-header", temporary, *off, *options, *tests]))
        where = getattr(sys.modules.get("blocks"), "__file__", None)
        return OTHER_TREE if where and not where.startswith(str(self.copy)) else code


def in_turn(tests: list[str]) -> list[list[str]]:
    """Tests of the likeliest file first, then all others: most changes are noticed by few."""
    files = Counter(test.partition("::")[0] for test in tests[:LIKELY])
    first = [test for test in tests if test.partition("::")[0] in dict(files.most_common(1))]
    return [some for some in (first, [test for test in tests if test not in first]) if some]


def last_words(log: Path) -> str:
    """Which test failed, as pytest said it."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    named = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return (named or lines[-1:] or [""])[0][:SHOWN]


def named_in(words: str, tests: list[str]) -> str:
    """The test that last words name; "" for none."""
    named = words.partition(" ")[2]
    return max((test for test in tests if named.startswith(test)), key=len, default="")
