"""What users may leave out and what it then is, as written down in tests/data/signatures.txt.

    python -m tests.test_signatures

writes the file anew after a change that is meant; what is added needs none.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import blocks
import cosim
import plant

FILE = Path(__file__).parent / "data" / "signatures.txt"
PLAIN = (bool, int, float, str, tuple, type(None))


def is_plain(p: inspect.Parameter) -> bool:
    """Whether a parameter and its default can be written down."""
    by_name = p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    return by_name and (p.default is p.empty or type(p.default) in PLAIN)


def written(p: inspect.Parameter) -> str:
    """``kp=1.0``, and ``*cutoff=100.0`` where it is given by name only."""
    return f"{'*' * (p.kind is p.KEYWORD_ONLY)}{p.name}" + (
        f"={p.default!r}" if p.default is not p.empty else ""
    )


def by_position(parameters: list[str]) -> list[str]:
    """Those that need no name."""
    return [p for p in parameters if p[0] != "*"]


def signatures() -> dict[str, list[str]]:
    """Parameters of everything public, by name."""
    found = {}
    for package in (blocks, cosim, plant):
        for name in getattr(package, "__all__", dir(package)):
            thing = getattr(package, name)
            if not callable(thing):
                continue
            try:
                parameters = inspect.signature(thing).parameters.values()
            except ValueError:
                continue
            found[f"{package.__name__}.{name}"] = [written(p) for p in parameters if is_plain(p)]
    return found


def listed() -> dict[str, list[str]]:
    """What the file says."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {line.split("\t")[0]: line.split("\t")[1:] for line in lines}


@pytest.mark.parametrize("package", ["blocks", "cosim", "plant"])
def test_parameters_and_defaults_are_those_written_down(package):
    now = signatures()
    known = {name: expected for name, expected in listed().items() if name.startswith(f"{package}.")}
    assert len(known) > 5
    gone = {name: [p for p in expected if p not in now.get(name, ())] for name, expected in known.items()}
    assert not {name: parameters for name, parameters in gone.items() if parameters}
    for name, expected in known.items():
        first = by_position(expected)
        assert by_position(now[name])[: len(first)] == first, name


if __name__ == "__main__":
    text = "".join("\t".join([name, *found]) + "\n" for name, found in sorted(signatures().items()))
    FILE.write_text(text, encoding="utf-8")
