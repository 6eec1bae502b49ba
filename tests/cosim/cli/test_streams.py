"""Commands print into streams that are closed, full, or not read any more."""

import errno
import io
import sys

import pytest

from cosim.cli.streams import standard_streams


class Broken(io.StringIO):
    """A stream that takes nothing, and says so when it is flushed."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def flush(self):
        raise OSError(self.number, "the reason")


def test_closed_streams_take_what_is_printed(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    with standard_streams():
        print("nobody sees this")
        assert not sys.stdout.isatty() and not sys.stderr.isatty()


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "cannot write to standard output: the reason.\n"), (errno.EPIPE, "")],
)
@pytest.mark.parametrize("how", ["print", "exit"])
def test_a_stream_that_takes_nothing_ends_the_command(monkeypatch, capsys, number, said, how):
    monkeypatch.setattr(sys, "stdout", Broken(number))
    with pytest.raises(SystemExit) as caught, standard_streams():
        if how == "exit":  # as typer ends every command
            sys.exit(0)
    assert caught.value.code == 1 and capsys.readouterr().err == said
    sys.stdout.flush()  # what is left goes nowhere


def test_errors_of_files_are_not_those_of_streams():
    with pytest.raises(FileNotFoundError), standard_streams():
        open("/none/of/these")  # noqa: SIM115
