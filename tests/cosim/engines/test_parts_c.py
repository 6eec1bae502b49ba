"""Tables for functions of which single numbers are asked for."""

from __future__ import annotations

import itertools
import re
from types import SimpleNamespace

from cosim.engines.codegen.parts_c import by_place, lasting, parts
from cosim.engines.codegen.plan import ArrayPlace, Call, Compute, FunctionPlan, Plain


def function(name, *pieces):
    """Each piece: those it needs, and the numbers it gives."""
    made = [Plain(f"{name}_{k}", needs={*n}, outputs={*o}) for k, (n, o) in enumerate(pieces)]
    return FunctionPlan(name, made, 0)


def table(text, name):
    found = re.search(rf"{name}\[\] = {{(.*?)}}", text)
    return found.group(1).split(", ")[:-1]  # the last one is none: C has no empty tables


def test_a_piece_comes_with_all_it_needs_and_those_of_the_second_function_behind_the_first():
    one = function("one", ((), {0}), ((0,), {3}), ((1,), set()))
    two = function("two", ((), {1}), ((0,), {2}))
    text = parts("both", [one, two], 0, [])
    assert table(text, "both_pieces") == ["one_0", "one_1", "one_2", "two_0", "two_1"]
    assert table(text, "both_piece_of") == ["0", "3", "4", "1"]
    starts = [*map(int, table(text, "both_needs_start"))]
    needs = [*map(int, table(text, "both_needs"))]
    assert [needs[a:b] for a, b in itertools.pairwise(starts)] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [3],
        [3, 4],
    ]
    assert (
        "both_parts = {both, 5, both_pieces, both_piece_of, both_needs_start, both_needs, both_states}"
        in text
    )


def test_one_piece_needs_no_tables():
    text = parts("f", [function("f", ((), {0, 1}))], 0, [])
    assert [table(text, f"f_{name}") for name in ("piece_of", "needs_start", "needs")] == [[], [], []]
    assert "f_parts = {f, 1," in text


def test_numbers_that_share_a_place_share_its_piece():
    """Three events, the first and the last of one crossing."""
    one, two = function("one", ((), {0})), function("two", ((), {1}))
    assert table(parts("g", [one, two], 0, [], [1, 0, 1]), "g_piece_of") == ["1", "0", "1"]


def test_the_states_a_piece_reads_are_from_the_first_to_behind_the_last_of_all_it_needs():
    """All of them where the host is asked, none where none is read."""

    def read(*places: int) -> list[Compute | Call]:
        return [Compute("sq", (ArrayPlace("x", k),), 0, ()) for k in places]

    asked = Call(0, (), (), (), 0)
    pieces = [
        Plain("f_0", read(5, 3), set(), {0}),
        Plain("f_1", read(7), {0}, {1}),
        Plain("f_2", [Compute("sq", (ArrayPlace("h", 9),), 0, ())], set(), {2}),
        Plain("f_3", [*read(1), asked], set(), {3}),
        Plain("f_4", read(2), {3}, {4}),
    ]
    for host, all_of_them in ((object(), [0, 12]), (None, [1, 2])):
        text = parts("f", [FunctionPlan("f", [*pieces], 0)], 12, [SimpleNamespace(host=host)])
        found = [*map(int, table(text, "f_states"))]
        expected = [[3, 6], [3, 8], [0, 0], all_of_them, [0, 12] if host else [1, 3]]
        assert [found[k : k + 2] for k in range(0, 10, 2)] == expected


def test_events_by_the_places_of_their_crossings():
    found = by_place([2, 0, 2, 1, 0])
    assert found == {"place_of": [2, 0, 2, 1, 0], "event_start": [0, 2, 3, 5], "event_at": [1, 4, 3, 0, 2]}
    assert by_place([]) == {"place_of": [], "event_start": [0], "event_at": []}


def test_a_place_of_h_changes_the_pieces_that_read_it_and_those_that_need_them() -> None:
    def piece(name: str, read: ArrayPlace, needs: set[int], outputs: set[int]) -> Plain:
        return Plain(name, [Compute("sq", (read,), 0, ())], needs, outputs)

    pieces = [
        piece("f_0", ArrayPlace("h", 1), set(), {0, 1, 3}),
        piece("f_1", ArrayPlace("h", 0), {0}, {2}),
        piece("f_2", ArrayPlace("x", 0), set(), {4}),
    ]
    text = lasting(FunctionPlan("f", [*pieces], 3), 2, [])
    assert "f_readers_start[] = {0, 1, 3, 0}" in text
    assert "f_readers[] = {1, 0, 1, 0}" in text  # h[0]: the second; h[1]: the first, which the second needs
    assert "f_restless[] = {0, 0, 1, 0}" in text
    assert "f_runs_start[] = {0, 2, 3, 4, 0}" in text
    assert "f_runs[] = {0, 2, 3, 4, 2, 3, 4, 5, 0}" in text
