"""Symbols say that they are no numbers for as long as anything asks for it, in any thread."""

import contextlib

import casadi as ca

from blocks.contract.no_numbers import no_numbers
from blocks.contract.symbols import tracing


def test_whoever_leaves_first_leaves_the_answer_to_the_others():
    x = ca.SX.sym("x")
    with contextlib.ExitStack() as first:
        first.enter_context(no_numbers())
        with tracing():  # as another thread does that begins later and ends later
            first.close()
            assert x.__DM__() is None
        assert not hasattr(x, "__DM__")


def test_what_is_traced_inside_leaves_the_answer():
    x = ca.SX.sym("x")
    with no_numbers():
        with tracing():
            pass
        assert x.__DM__() is None
    assert not hasattr(x, "__DM__")
