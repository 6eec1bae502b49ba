"""What a manifest of a folder of results may say, entry by entry."""

import pytest

from blocks import PlantloopError
from cosim.study.manifest_check import MOST, check_manifest

GOOD = {
    "name": "s",
    "count": 3,
    "chunk": 1,
    "variants": ["a"],
    "parameters": [],
    "metrics": ["m"],
    "stored": {"x": [2, ["p", "q"]]},
    "times": [0, 0.5, 0.5, 1.0],
    "keep": "all",
    "dtype": "float32",
    "files": {"a": "b"},
    "another": object(),
}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"count": 0},
        {"chunk": MOST},
        {"stored": {}, "times": []},
        {"stored": {}},
        {"times": [-1.5]},
        {"dtype": "float64"},
        {"files": {}},
        {"stored": {"x": [1, []], "y": [3, ["a"]]}},
    ],
)
def test_what_is_taken(change):
    check_manifest(GOOD | change)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 1),
        ("name", "\ud800"),
        ("count", -1),
        ("count", True),
        ("count", 1.0),
        ("chunk", 0),
        ("chunk", MOST + 1),
        ("variants", "a"),
        ("variants", {"a": "b"}),
        ("variants", ["a", 1]),
        ("metrics", None),
        ("times", [1.0, 0.5]),
        ("times", [float("nan")]),
        ("times", [True]),
        ("times", {}),
        ("keep", None),
        ("dtype", "int"),
        ("files", ["a"]),
        ("files", {"a": 1}),
        ("files", {1: "a"}),
        ("stored", [["x", 1]]),
        ("stored", {1: [1, []]}),
        ("stored", {"x": [0, []]}),
        ("stored", {"x": [1]}),
        ("stored", {"x": [1, "p"]}),
        ("stored", {"x": {}}),
        ("stored", {"x": [1, []], "y": 2}),
        ("stored", "x"),
    ],
)
def test_what_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"'{name}' is "):
        check_manifest(GOOD | {name: value})


def test_signals_without_times_and_cases_without_end_are_refused():
    with pytest.raises(ValueError, match="there are no 'times'"):
        check_manifest(GOOD | {"times": []})
    with pytest.raises(PlantloopError, match="a list of its cases"):
        check_manifest(GOOD | {"count": MOST})
