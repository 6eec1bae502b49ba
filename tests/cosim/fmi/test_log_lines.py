"""The logger that an FMU calls: what is raised in it, where no exception may pass."""

import pytest

from cosim import FMU, Diagram, Simulation
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.log_lines import LogLines
from tests.helpers.fmus import build_fmu, needs_compiler


def say(log, major, text="text"):
    f = ffi()
    given = [f.new("char[]", word.encode()) for word in ("category", text)]
    if major == 3:
        log.callback(f.NULL, 0, *given)
    else:
        log.callback(f.NULL, f.NULL, 0, *given, *[0] * (len(f.typeof(log.callback).args) - 5))


@pytest.mark.parametrize("major", [2, 3])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, ValueError])
def test_ctrl_c_in_a_line_ends_the_run_of_compiled_code(major, raised):
    """Other errors, and Ctrl-C in Python's turn, are raised by the call that logged."""
    log, ended = LogLines("unit", major), []

    def tee(line):
        raise raised(line)

    log.tee = tee
    say(log, major)
    assert isinstance(log.problem, raised)
    log.problem, log.interrupt = None, ended.append
    say(log, major, "more")
    found = [log.problem] if raised is ValueError else ended
    assert [str(error) for error in found] == ["[OK] category: more"]
    assert (log.problem is None) == (raised is KeyboardInterrupt)
    assert [*log.lines] == ["[OK] category: text", "[OK] category: more"]


@needs_compiler
def test_the_run_hears_of_ctrl_c_while_compiled_code_calls_the_fmu():
    """In Python's turn, and where the run is closed, the call itself raises it."""
    d = Diagram("d")
    d.add("unit", FMU(build_fmu("ball"), kind="me"))
    with Simulation(d, engine="native") as sim:
        sim.advance(0.1)
        (unit,) = (sim._engine.instances.made(name) for name in sim._engine.instances.names)
        log, run = unit.component.log, sim._engine.run
        assert log.interrupt is not None and run.cancel == 0
        with unit.alone():
            assert log.interrupt is None
        log.interrupt(KeyboardInterrupt("here"))
        assert str(sim._engine.instances.ended) == "here" and run.cancel == 1
        sim.advance(0.2)  # that is over
        assert sim.time == 0.2
    assert log.interrupt is None
