"""The exception types every package of plantloop raises for a user's mistake.

Each message says what is wrong, where, what was found, and how to mend it; the same facts are fields
of the exception so that a program can use them.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator, Sequence
from numbers import Real
from typing import Any

from blocks.elsewhere import SAID_ELSEWHERE


class PlantloopError(Exception):
    """Base of all errors plantloop raises on purpose.

    Parameters
    ----------
    message : str        one clear message: what, where, why, how to mend
    path : str           diagram path, ``file:line`` or element id the message is about
    port : str           port name, where one is concerned
    time : float         simulated time [s], where one is concerned
    value : object       the offending value
    hint : str           the cure; appended to the message when given

    A failed run carries what was computed so far as ``error.result``, and as ``error.before`` a snapshot
    from shortly before it failed, where there is one: for ``Simulation.restore`` and `cosim.replay`.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        port: str | None = None,
        time: float | None = None,
        value: object = None,
        hint: str | None = None,
    ) -> None:
        gap = "" if message.endswith("\n") else " "
        super().__init__(f"{message}{gap}{hint}" if hint else message)
        self.path, self.port, self.time, self.value, self.hint = path, port, time, value, hint
        self.result: Any = None  # a cosim.Result; typed loosely because blocks may not import cosim
        self.before: Any = None  # a snapshot of cosim

    def append(self, text: str) -> None:
        """Add sentences to the end of the message."""
        self.args = (f"{self} {text}",)


class BlockError(PlantloopError):
    """A block is declared or parametrised wrongly."""


class KeepsError(BlockError):
    """A function keeps something from call to call that does not belong to one run."""


LISTED = 100  # problems that one message lists


def listed_problems(problems: Sequence[str], about: str) -> str:
    """One message of several problems: how many there are, and the first of them."""
    if len(problems) == 1:
        return problems[0]
    rest = len(problems) - LISTED
    shown = [*problems[:LISTED], f"... and {rest} more."] if rest > 1 else problems
    return f"{len(problems)} problems in {about}:\n- " + "\n- ".join(shown)


class WiringError(PlantloopError):
    """Blocks are connected wrongly; ``problems`` lists every fault found."""

    def __init__(self, problems: Iterable[str], **fields: Any) -> None:
        self.problems = list(problems)
        super().__init__(listed_problems(self.problems, "the diagram"), **fields)

    def __reduce__(self) -> Any:
        """Pickle by the problems: the message is made of them."""
        return type(self), (self.problems,), self.__dict__


class AlgebraicLoopError(PlantloopError):
    """Signals depend on themselves at one instant."""


class ModelError(PlantloopError):
    """A plant model is wrong: file, line, element and id are in the message."""


class ExpressionError(ModelError):
    """A run-time expression is wrong; the message shows the text with a caret."""


class ScenarioError(PlantloopError):
    """A scenario file is wrong: file, table and key are in the message."""


class SimulationError(PlantloopError):
    """A run stopped before its end; ``result`` holds everything up to then."""


class StepCollapsed(SimulationError):
    """The step of a solver became too small to go on with."""


def shown(value: object, most: int = 80) -> str:
    """A value for a message, on one line: of a long list, or a number of many digits, its beginning."""
    try:
        of_numpy = isinstance(value, Real) and getattr(value, "item", None)
        text = " ".join(repr(of_numpy() if of_numpy else value).split())  # np.float64(inf) is inf
    except ValueError:  # Python prints no integer of more than 4300 digits
        text = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else type(value).__name__
    return text if len(text) <= most else f"{text[: most - 3]}..."


def text_of_error(error: BaseException) -> str:
    """The text of an error as files keep it; the name of its class where its own code cannot make one."""
    try:
        text = str(error)
    except Exception:  # a user's class may raise anything
        return type(error).__name__
    return text.encode("utf-8", "backslashreplace").decode()


LONGEST = 200  # characters of a name that is compared with others: the time grows with their square
LOOKED_UP = LISTED  # problems of one text whose near misses and places in lists are looked for


def near_miss(name: object, choices: Iterable[str], found: int = 0) -> str:
    """Text that offers the nearest known name, or lists what there is.

    found : how many problems are known already; after `LOOKED_UP` of them no name is compared with others

    >>> near_miss("thetta", ["theta", "x"])
    "did you mean 'theta'?"
    """
    if found >= LOOKED_UP:
        return "mend the problems before it first."
    known, given = sorted(choices), str(name)
    close = [k for k in known if k.lower() == given.lower()]
    if not close and (words := SAID_ELSEWHERE.get(given.lower())):
        close = [word for word in words.split() if word in known]
    if not close and len(given) <= LONGEST:
        close = difflib.get_close_matches(given, known, n=1, cutoff=0.6)
    if not close and len(given) <= LONGEST:
        lower = {k.lower(): k for k in known}
        close = [lower[k] for k in difflib.get_close_matches(given.lower(), lower, n=1, cutoff=0.6)]
    if close:
        return f"did you mean '{close[0]}'?"
    if not known:
        return "there are none."
    shown = ", ".join(f"'{k}'" for k in known[:12])
    return f"there is {shown}{f', ... ({len(known)} in all)' if len(known) > 12 else ''}."


@contextlib.contextmanager
def naming_block(path: str) -> Iterator[None]:
    """Errors of a block carry its path."""
    try:
        yield
    except BlockError as error:
        text = f"block '{path}': {error}"
        port, time, value = error.port, error.time, error.value
        raise type(error)(text, path=path, port=port, time=time, value=value) from error
