"""How the plant talks to its user: warnings, and one error that carries every problem found."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from blocks.contract.user_lines import warn_user
from blocks.errors import ModelError, listed_problems


class PlantWarning(UserWarning):
    """A model is usable, but something in it was ignored, assumed or is probably not meant."""


class ModelProblems(ModelError):
    """All problems found in a model, reported together.

    Parameters
    ----------
    problems : iterable of str    one line each: ``file:line: Element id: problem; cure``
    about : str                   the file or model they were found in

    Attributes
    ----------
    problems : list of str        as given
    path : str                    the one element they are about, ``file:line: Element id=7``, else ``about``
    """

    def __init__(self, problems: Iterable[str], about: str = "the model", path: str | None = None) -> None:
        self.problems = list(problems)
        self.about = about
        super().__init__(listed_problems(self.problems, about), path=path or about)

    def __reduce__(self) -> tuple[type[ModelProblems], tuple[list[str], str, str | None]]:
        # Exceptions are pickled by their message; this one is made from its problems.
        return type(self), (self.problems, self.about, self.path)


@contextmanager
def recorded() -> Iterator[list[warnings.WarningMessage]]:
    """Warnings of this stretch are kept in a list instead of being shown; see `passed_on`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield caught


def passed_on(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Texts of warnings that were recorded, which are shown after all."""
    for w in caught:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return tuple(str(w.message) for w in caught)


_SAID: ContextVar[tuple[str, ...]] = ContextVar("_SAID", default=())


@contextmanager
def already_said(texts: tuple[str, ...]) -> Iterator[None]:
    """Within this stretch, in this thread, `mention` does not say these texts again."""
    token = _SAID.set(texts)
    try:
        yield
    finally:
        _SAID.reset(token)


def mention(text: str) -> None:
    """Warn the user, unless the same was said when the plant was made."""
    if text not in _SAID.get():
        warn_user(text, PlantWarning)
