"""Cases of a study: their seeds, a print of them, and those of a file."""

import numpy as np
import pandas as pd
import pytest

from blocks import PlantloopError
from cosim.study.cases import Cases, _from_file, seeds_of
from cosim.study.stored_rows import check_cases
from cosim.study.wanted_cases import numbers_of_cases

WORD = 2**64


def splitmix(state, count):
    """SplitMix64 in whole numbers, by its published constants."""
    found = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) % WORD
        z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
        found.append(z ^ (z >> 31))
    return found


def test_seeds_are_those_of_splitmix():
    """Its first numbers from 1234567 are published; ours begin at the first number of the seed."""
    assert splitmix(1234567, 3) == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    for seed in (0, 1, 1234567, 2**63):
        (start,) = splitmix(seed, 1)
        assert seeds_of(seed, 5).tolist() == [s >> 1 for s in splitmix(start, 5)]


def test_a_print_of_cases_changes_with_every_number():
    make = lambda k=2.0, variant=0, seed=7: Cases(
        {"a": np.array([[1.0], [k]]), "b": np.zeros((2, 2))},
        np.array([0, variant]),
        np.array([seed, 8], np.uint64),
    )
    prints = [
        make().fingerprint,
        make(k=2.5).fingerprint,
        make(variant=1).fingerprint,
        make(seed=6).fingerprint,
    ]
    assert len(set(prints)) == 4 and make().fingerprint == prints[0] and {len(p) for p in prints} == {16}


def test_columns_of_a_file_with_numbers_in_brackets_are_one_name(tmp_path):
    file = tmp_path / "cases.csv"
    file.write_text("K[0], K[1] ,K[10],K[1x],a[1],seed\n1,2,3,4,5,6\n7,8,9,10,11,12\n")
    found, seeds = _from_file(file, "sampling.file")
    assert {name: values.tolist() for name, values in found.items()} == {
        "K": [[1, 2, 3], [7, 8, 9]], "K[1x]": [[4], [10]], "a[1]": [[5], [11]],
    }  # fmt: skip
    assert list(seeds) == [6, 12]


@pytest.mark.parametrize(
    ("cases", "text"),
    [([0, 1, 1], "twice"), ([0, 3], "from 0 to 2"), ([-1, 0], "from 0 to 2"), ([0.0, 1.0], "from 0 to 2")],
)
def test_numbers_of_cases_that_are_none(cases, text):
    with pytest.raises(ValueError, match=text):
        check_cases(np.array(cases), 3)
    check_cases(np.array([2, 0]), 3)
    check_cases(np.zeros(0, np.int64), 0)


@pytest.mark.parametrize("given", [[0, 2], (2, 0), range(3), np.array([1, 2], np.uint8), [np.int64(2)]])
def test_lists_of_numbers_of_cases(given):
    assert numbers_of_cases(given, 3).tolist() == list(given)


@pytest.mark.parametrize(
    "given",
    [
        [],
        [3],
        [-1],
        [True],
        [1.0],
        1,
        None,
        "01",
        b"\0\1",
        bytearray(b"\0\1"),
        {0, 1},
        {0: 1},
        np.array([[0, 1]]),
    ],
)
def test_what_lists_no_numbers_of_cases(given):
    with pytest.raises(PlantloopError, match="expected a list of numbers from 0 to 2"):
        numbers_of_cases(given, 3)


@pytest.mark.parametrize(
    "column", [pd.to_timedelta([1, 2], unit="s"), pd.to_datetime(["2020-01-01", "2020-01-02"]), [True, False]]
)
def test_times_and_truth_in_a_file_are_no_numbers(tmp_path, column):
    """A second was 1e6, in the unit that Parquet keeps it in, and true was 1."""
    pd.DataFrame({"k.k": column}).to_parquet(tmp_path / "cases.parquet")
    with pytest.raises(PlantloopError, match=r"column 'k.k', row 1: got .*, expected a finite number"):
        _from_file(tmp_path / "cases.parquet", "sampling.file")
