"""Processes that are copies of this one, beside threads."""

import os
import warnings

import pytest

from cosim.batch.forked import FORKED


@pytest.mark.parametrize(
    ("text", "heard"), [("This process (pid=1) is multi-threaded, use of fork()", 0), ("other", 1)]
)
def test_what_newer_pythons_say_of_threads_is_not_said_again(monkeypatch, text, heard):
    fork = os.fork

    def warned():
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return fork()

    monkeypatch.setattr(os, "fork", warned)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        process = FORKED.Process(target=os._exit, args=(3,))
        process.start()
        process.join(10.0)
    assert process.exitcode == 3
    assert len(found) == heard
