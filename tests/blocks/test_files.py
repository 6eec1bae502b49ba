"""Files of any origin, read whole."""

import os
import tracemalloc

import pytest

from blocks.files import read_whole


def test_a_file_takes_as_much_memory_as_it_is_long(tmp_path):
    """Not as much as the longest that is read: of snapshots 4 GB, which many machines do not give."""
    path = tmp_path / "short"
    path.write_bytes(b"abc")
    tracemalloc.start()
    try:
        assert read_whole(path) == b"abc"
        assert tracemalloc.get_traced_memory()[1] < 2**18
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("grown", [1, 2**20 - 1, 2**20 + 7])
def test_a_file_that_grows_while_it_is_read_is_read_on_up_to_the_most(tmp_path, monkeypatch, grown):
    path = tmp_path / "growing"
    path.write_bytes(b"a" * 10 + b"b" * grown)
    now = os.fstat

    def before(handle):
        """What the file was when somebody looked how long it is."""
        found = list(now(handle))
        found[6] = 10
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", before)
    assert read_whole(path) == path.read_bytes()
    assert len(read_whole(path, most=10 + grown)) == 10 + grown
    with pytest.raises(OSError, match="larger than"):
        read_whole(path, most=9 + grown)


def test_the_longest_that_is_read_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abcd")
    assert read_whole(path, most=4) == b"abcd"
    with pytest.raises(OSError, match="larger than"):
        read_whole(path, most=3)
