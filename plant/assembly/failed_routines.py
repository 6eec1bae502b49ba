"""Errors about conditions at the start, with what a user subroutine raised where one is the reason."""

from __future__ import annotations

from blocks.contract.callback import failed_now
from blocks.errors import ModelError


def not_met(where: str, what: str, hint: str) -> ModelError:
    """The error about a condition; where a routine that was just called failed, about that.

    where : the element; what : what is wrong with its condition; hint : the cure if no routine failed
    """
    failed = failed_now()
    if not failed:
        return ModelError(f"{where}: {what}.", path=where, hint=hint)
    faults = "; ".join(f"{live.call.about} {live.failure}" for live in failed)
    error = ModelError(f"{where}: {what}: {faults}.", path=where, hint="Mend the subroutine.")
    error.__cause__ = next((live.error for live in failed if live.error is not None), None)
    return error
