"""Errors about conditions at the start name the routine that failed, and what it raised."""

from __future__ import annotations

from types import SimpleNamespace

from plant.assembly import failed_routines


def test_the_error_is_caused_by_what_the_first_routine_raised(monkeypatch):
    """One of them has failed without raising anything."""
    call, raised = SimpleNamespace(about="GCOSUB"), ZeroDivisionError("by zero")
    silent, loud = (SimpleNamespace(call=call, failure="fails", error=e) for e in (None, raised))
    monkeypatch.setattr(failed_routines, "failed_now", lambda: [silent, loud])
    error = failed_routines.not_met("Constraint 3", "it is open", "Close it.")
    assert error.__cause__ is raised
    assert "it is open: GCOSUB fails; GCOSUB fails" in str(error) and "Mend the subroutine" in str(error)
