"""Inputs nobody would write, for what reads files of strangers: nothing but errors of ours may come out.

``python -m tests.security.fuzz --count 10000 expressions`` tries as many as you like, with the seeds from
``--seed`` on, and prints every input on which something else happened; ``all`` is every kind.
``--write`` puts the figures into docs/security.md. The tests try 2000 with hypothesis.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np

from blocks import Integrator, Sine, TransportDelay, UnitDelay
from blocks.errors import PlantloopError
from cosim import Simulation
from cosim.scenario import load_scenario
from plant import Plant
from plant.expressions.expression import parse
from plant.expressions.functions import FUNCTIONS
from plant.expressions.splines import SplineData
from plant.formats.motionsolve.reader import read_model
from tests.helpers.decks import deck, pendulum, slider
from tests.helpers.made import chain
from tests.helpers.scope import GROUND, Symbols

SLOW = 20.0  # s an input may take
EACH = 500  # of each kind in CI
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ODD = [
    "0", "-0", "1e308", "-1e308", "1e-320", "1e400", "nan", "inf", "9" * 400, "", " ", "\t", "\0", "é",
    "\ud7ff",
    "-1", "1", "2.5", "1e9", "99999999999", "TRUE", "../x", "/dev/zero", "<", "&", '"', "'", "]]>", "{", "[",
    "%s", "{0}", "\\", "\n", "0x10", "1/0", "1e", "--", "**", "()", "((((", "a" * 300,
]  # fmt: skip

Random = random.Random


# --- expressions ------------------------------------------------------------------------------------------
def an_expression(r: Random, depth: int = 4) -> str:
    """Text that is nearly in the language, or in it."""
    kind = r.randrange(9 if depth else 3)
    if kind == 0:
        return r.choice(["TIME", "1", "2.5", "1.0E-3", "0", r.choice(ODD), repr(r.uniform(-1e3, 1e3))])
    if kind == 1:
        return r.choice(["TIME", "PI", "DX(1,2)", "VARVAL(1)", "nobody", "RTOD"])
    if kind == 2:
        return str(r.randrange(-3, 12))
    if kind in (3, 4):
        operator = r.choice(["+", "-", "*", "/", "**", "^", "==", "&&", ",", " ", ":"])
        return f"{an_expression(r, depth - 1)}{operator}{an_expression(r, depth - 1)}"
    if kind == 5:
        return f"({an_expression(r, depth - 1)})"
    if kind == 6:
        parts = [an_expression(r, depth - 1) for _ in range(4)]
        return "IF({}:{},{},{})".format(*parts)
    arguments = ",".join(an_expression(r, depth - 1) for _ in range(r.randrange(7)))
    return f"{r.choice([*FUNCTIONS])}({arguments})"


SPLINE = SplineData(np.arange(5.0), np.array([0.0, 1.0, 0.0, 2.0, 1.0]))


class _Any(dict):  # type: ignore[type-arg]
    """The same for every id."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __missing__(self, key: object) -> object:
        return self._value


def read_expression(r: Random) -> Callable[[], object]:
    """Parse and evaluate one."""
    text = mutated(r, an_expression(r)) if r.random() < 0.3 else an_expression(r)

    def act() -> object:
        value = parse(text).evaluate(Symbols(markers=_Any(GROUND), splines=_Any(SPLINE)))
        return ca.Function("f", ca.symvar(value), [value])

    return named(act, text)


# --- text in general --------------------------------------------------------------------------------------
def mutated(r: Random, text: str, times: int = 3) -> str:
    """A text with pieces cut, doubled, exchanged, or replaced by odd ones."""
    for _ in range(r.randrange(1, times + 1)):
        i, j = sorted(r.randrange(len(text) + 1) for _ in range(2))
        j = min(j, i + 40)
        kind = r.randrange(5)
        if kind == 0:
            text = text[:i] + text[j:]
        elif kind == 1:
            text = text[:j] + text[i:j] * r.randrange(1, 4) + text[j:]
        elif kind == 2:
            text = text[:i] + r.choice(ODD) + text[j:]
        elif kind == 3:
            text = text[:i] + r.choice(ODD) + text[i:]
        else:
            text = _other_value(r, text)
    return text


def _other_value(r: Random, text: str) -> str:
    """One number or quoted word replaced."""
    quotes = [k for k, c in enumerate(text) if c == '"']
    if len(quotes) < 2:
        return text
    k = r.randrange(len(quotes) - 1)
    return text[: quotes[k] + 1] + r.choice(ODD) + text[quotes[k + 1] :]


def named(act: Callable[[], object], text: object) -> Callable[[], object]:
    """The act, which knows what it is done with."""
    act.__doc__ = str(text)
    return act


# --- decks ------------------------------------------------------------------------------------------------
COMMANDS = (
    '<Simulate analysis_type="Transient" end_time="0.1" print_interval="0.01"/><Save model_file="a.xml"/>'
    '<Load_Model model_file="a.xml"/><Param_Transient integr_tol="1e-6"/><Stop/>'
)
DECKS = [deck(pendulum(0.4), COMMANDS).decode(), deck(slider(), COMMANDS).decode()]


def read_deck(r: Random) -> Callable[[], object]:
    """Read a deck, and make its plant."""
    text = mutated(r, r.choice(DECKS), 4)

    def act() -> object:
        read_model(text.encode("utf-8", "surrogatepass"))
        return Plant.read(text.encode("utf-8", "surrogatepass"))

    return named(act, text)


# --- scenarios --------------------------------------------------------------------------------------------
SCENARIO = """
[scenario]
name = "loop"
description = "a loop"
[blocks.a]
type = "Sine"
amplitude = 2.0
sample = 0.01
[blocks.b]
type = "StateSpace"
A = [[0.0, 1.0], [-1.0, -0.1]]
B = [[0.0], [1.0]]
C = [[1.0, 0.0]]
[wiring]
connect = ["a.y -> b.u"]
[parameters]
"a.amplitude" = 1.0
[run]
until = 0.1
solver = "dopri5"
rtol = 1e-8
log_every = 0.01
[outputs]
signals = ["b.y"]
result = "result.nc"
[[outputs.plots]]
file = "a.png"
signals = ["b.y"]
[checks.final]
"b.y" = { value = 0.0, tolerance = 1.0 }
"""


def read_scenario(r: Random) -> Callable[[], object]:
    """Read a scenario, and flatten its diagram."""
    text = mutated(r, SCENARIO, 4)

    def act() -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "s.toml")
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
            return load_scenario(path).system()

    return named(act, text)


# --- snapshots --------------------------------------------------------------------------------------------
_SIM: list[tuple[Simulation, bytes]] = []


def _snapshot() -> tuple[Simulation, bytes]:
    """A run on the native engine, and a file of it; made once."""
    if not _SIM:
        sim = Simulation(chain(Sine(sample=0.01), UnitDelay(sample=0.01), TransportDelay(0.05), Integrator()))
        sim.advance(0.2)
        with tempfile.TemporaryDirectory() as folder:
            sim.save(Path(folder, "s.npz"))
            _SIM.append((sim, Path(folder, "s.npz").read_bytes()))
    return _SIM[0]


def read_snapshot(r: Random) -> Callable[[], object]:
    """Load a changed snapshot, and go on from it where it is taken."""
    sim, data = _snapshot()
    if r.random() < 0.5:
        with np.load(io.BytesIO(data)) as file:
            arrays = {name: file[name] for name in file.files}
        for name in r.sample([*arrays], r.randrange(1, 3)):
            _forge(r, arrays, name)
        out = io.BytesIO()
        np.savez(out, **arrays)
        data = out.getvalue()
    else:
        for _ in range(r.randrange(1, 6)):
            k = r.randrange(len(data))
            data = data[:k] + bytes([r.randrange(256)]) * r.randrange(1, 9) + data[k + 8 :]

    def act() -> object:
        before = sim.snapshot()
        try:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "s.npz").write_bytes(data)
                sim.load(Path(folder, "s.npz"))
            if sim.time < 10.0:
                sim.advance(sim.time + 0.05)
            return None
        finally:
            sim.restore(before)

    return named(act, data.hex())


def _forge(r: Random, arrays: dict[str, np.ndarray], name: str) -> None:
    value = arrays[name]
    if name == "facts":
        facts = json.loads(value.tobytes())
        key = r.choice([*facts])
        odd = [None, -1, 0, 10**9, -(10**9), 10**400, 0.5, "x", [], [1], [-1, -1], {}, True]
        facts[key] = {k: r.choice(odd) for k in facts[key]} if isinstance(facts[key], dict) else r.choice(odd)
        arrays[name] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        return
    odd_array = [
        lambda: value[:0], lambda: value.astype(np.float32), lambda: value * np.nan, lambda: value - 1e9,
        lambda: np.append(value, 0.0), lambda: value[..., :-1], lambda: value * 0, lambda: value + np.inf,
        lambda: value.astype("U4"), lambda: value[..., None], lambda: -value, lambda: value * 1e300,
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        arrays[name] = r.choice(odd_array)()


KINDS: dict[str, Callable[[Random], Callable[[], object]]] = {
    "expressions": read_expression,
    "decks": read_deck,
    "scenarios": read_scenario,
    "snapshots": read_snapshot,
}


def tried(kind: str, r: Random) -> str:
    """Try one input; "" if nothing came out but a value or an error of ours, else what did."""
    act = KINDS[kind](r)
    began, what = time.process_time(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            act()
        except PlantloopError:
            pass
        except Exception:
            what = traceback.format_exc()
    spent = time.process_time() - began
    if not what and spent > SLOW:
        what = f"it took {spent:.0f} s"
    return f"{what}\nof the input\n{act.__doc__}" if what else ""


def written(text: str, kind: str, count: int, seed: int, found: int) -> str:
    """The page with the figures of a kind: how many were tried, from which seed on, and found."""
    command = f"`python -m tests.security.fuzz --count {count} --seed {seed} {kind}`"
    row = f"| {kind} | {count} by hand, {EACH} in CI | {found} | {command} |"
    lines = text.splitlines()
    (place,) = (k for k, line in enumerate(lines) if line.startswith(f"| {kind} | "))
    return "\n".join([*lines[:place], row, *lines[place + 1 :], ""])


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"put the figures into {PAGE.name}")
    given = parser.parse_args(arguments)
    found = 0
    for kind in [*KINDS] if given.kind == "all" else [given.kind]:
        began, here = time.perf_counter(), 0
        for k in range(given.seed, given.seed + given.count):
            what = tried(kind, Random(f"{kind} {k}"))
            if what:
                here += 1
                print(f"--- {kind} {k}: {what}\n")
        found += here
        seconds = time.perf_counter() - began
        if given.write:
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(written(page, kind, given.count, given.seed, here), encoding="utf-8")
        print(f"{kind}: {given.count} tried in {seconds:.0f} s, {here} found", flush=True)
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main())
