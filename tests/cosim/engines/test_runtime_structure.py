"""The C runtime is in layers: which file uses which, from its headers and from the functions it calls."""

from __future__ import annotations

import re
from functools import cache

import networkx as nx
import pytest

from cosim.engines.native.build import RUNTIME

INTERFACE = "plantloop.h"  # types that all files share, and the functions the host calls
PARTS = {"fmu.h", "model.h", "tables.h"}  # of it
SOURCES = sorted(p.stem for p in RUNTIME.glob("*.c"))


@cache
def code(name: str) -> str:
    """A file without comments; the interface with its parts."""
    parts = sorted(PARTS) if name == INTERFACE else []
    text = "".join((RUNTIME / each).read_text() for each in [*parts, name])
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def includes(name: str) -> set[str]:
    """Headers of ours that a file names."""
    return set(re.findall(r'#include "(\w+\.h)"', code(name)))


def visible(name: str) -> set[str]:
    """Those headers, and all that they name."""
    found: set[str] = set()
    todo = includes(name)
    while todo:
        header = todo.pop()
        found.add(header)
        todo |= includes(header) - found
    return found


@cache
def defined(stem: str) -> frozenset[str]:
    """Functions and tables of a C file that others can see."""
    text = code(f"{stem}.c")
    return frozenset(re.findall(r"^(?!static|typedef|#)\w[\w ]*[ *](pl_\w+)\([^;{]*\)\s*\{", text, re.M))


def used(stem: str) -> set[str]:
    """Names of ours in a C file, and in the bodies of inline functions it includes."""
    headers = [code(h) for h in visible(f"{stem}.c") - {INTERFACE, *PARTS}]
    bodies = [body for text in headers for body in re.findall(r"\n\{.*?\n\}", text, re.DOTALL)]
    return names(code(f"{stem}.c")).union(*map(names, bodies))


def names(text: str) -> set[str]:
    """Names that the files of the runtime share."""
    return set(re.findall(r"\b(?:pl|PL)_\w+", text))


def test_every_function_is_found():
    """The search sees what a compiler sees: every function declared in a header is defined in one file."""
    function = re.compile(r"^\w[\w ]*[ *](pl_\w+)\([^{;]*\);", re.M)
    declared = {name for p in RUNTIME.glob("*.h") for name in function.findall(code(p.name))}
    declared -= {"pl_get_model", "pl_get_jacobian"}  # of generated code
    everywhere = [n for s in SOURCES for n in defined(s)]
    assert len(everywhere) == len(set(everywhere)) > 40
    assert declared == set(everywhere)


@pytest.mark.parametrize("stem", SOURCES)
def test_a_file_sees_the_header_of_what_it_calls(stem):
    seen = includes(f"{stem}.c")
    for other in SOURCES:
        for name in used(stem) & defined(other) if other != stem else ():
            in_interface = re.search(rf"\b{name}\(", code(INTERFACE)) is not None
            assert f"{other}.h" in seen or in_interface, f"{stem}.c calls {name} of {other}.c"
    for header in seen - {INTERFACE, f"{stem}.h"}:
        assert used(stem) & (names(code(header)) - names(code(INTERFACE))), f"{stem}.c does not need {header}"


def test_no_file_waits_for_one_that_waits_for_it():
    graph = nx.DiGraph()
    for stem in SOURCES:
        graph.add_edges_from(
            (stem, other) for other in SOURCES if other != stem and used(stem) & defined(other)
        )
        graph.add_edges_from((stem, h[:-2]) for h in includes(f"{stem}.c") if h[:-2] != stem)
    for path in RUNTIME.glob("*.h"):
        graph.add_edges_from((path.stem, h[:-2]) for h in includes(path.name))
    assert not list(nx.simple_cycles(graph))
    assert nx.dag_longest_path_length(graph) > 4  # layers, not a heap


def test_headers_include_types_only():
    """What a file needs to work stands in its own file, so that a header brings nothing else along."""
    for path in RUNTIME.glob("*.h"):
        allowed = PARTS if path.name == INTERFACE else set() if path.name in PARTS else {INTERFACE}
        assert includes(path.name) <= allowed, path.name
