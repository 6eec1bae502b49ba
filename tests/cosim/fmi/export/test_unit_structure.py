"""The C of exported instances is in layers: no file calls one that calls it."""

import re

import networkx as nx

from cosim.fmi.export.sources import UNIT

SOURCES = {p.name: re.sub(r"/\*.*?\*/", "", p.read_text(), flags=re.DOTALL) for p in UNIT.glob("*.c")}
SHARED = re.compile(r"^(?!static|typedef|#)\w[\w ]*[ *](unit_\w+)\([^;{]*\)\s*\{", re.M)


def test_no_file_waits_for_one_that_waits_for_it():
    home = {name: file for file, text in SOURCES.items() for name in SHARED.findall(text)}
    header = re.sub(r"/\*.*?\*/", "", (UNIT / "unit.h").read_text(), flags=re.DOTALL)
    assert set(re.findall(r"^[\w ]+[ *](unit_\w+)\([^{;]*\);", header, re.M)) == set(home)
    graph = nx.DiGraph()
    for file, text in SOURCES.items():
        called = {home[n] for n in set(re.findall(r"\bunit_\w+", text)) & set(home)}
        graph.add_edges_from((file, other) for other in called - {file})
    assert not list(nx.simple_cycles(graph))
    assert nx.dag_longest_path_length(graph) > 4  # layers, not a heap
