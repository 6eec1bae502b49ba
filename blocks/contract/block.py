"""What a block is, and how one is written.

A block is a frozen dataclass with one method, ``define``, that declares ports, states and equations::

    @dataclass(frozen=True)
    class Lag(Block):
        '''First-order lag, T y' = u - y.  Direct feedthrough: none.'''
        T: float = 1.0                      # s
        initial: float = 0.0

        def define(self, b: Equations) -> None:
            u = b.input("u")
            (T,) = b.parameters(T=self.T)
            y = b.continuous("y", initial=self.initial, size=u.size)
            b.derivative(y, (u - y) / T)
            b.output("y", y)

``define`` runs once per *shape* of a block with symbols for the signals: equations are plain NumPy
(``np.sin``, ``np.where``, ``np.clip``, ``@``), never ``if`` on a signal. Fields passed to
``b.parameters`` become run-time numbers, fields passed as an ``initial`` become run-time initial values;
every other field is structural. Direct feedthrough, per port and component, is derived from the equations.
"""

from __future__ import annotations

import abc
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

from blocks.contract.block_equations import Equations
from blocks.contract.picture import BlockPicture
from blocks.contract.recipes import BlockType, with_fields
from blocks.errors import BlockError, shown

__all__ = ["Block", "Equations"]


FOR_COMPILERS = (
    "alone", "also_made_by", "built_anew", "called", "check_parameters", "closed_otherwise",
    "counts_calls", "drawn_as", "drawn_fields", "driven", "endless_cure", "hears_rises", "in_steps",
    "jump_cure", "made_by", "numbers_only", "opened", "port_name", "ports_by_name", "reaches", "reads",
    "shares_equations", "start_only", "switches_by_design", "uncoupled", "units_follow", "value_names",
    "with_value",
)  # fmt: skip
"""What the packages above ask of a block: not offered while one types."""


class Block(metaclass=BlockType):
    """Interface of every block: a frozen dataclass whose fields are its parameters and structure."""

    switches_by_design: ClassVar[bool] = False
    """True where continuous equations jump on purpose, with the docstring saying so: no note about it."""

    units_follow: ClassVar[bool] = False
    """True where no number with a unit can hide in the equations, as a gain of 1: what is added must fit."""

    drawn_as: ClassVar[str] = "block"
    """What pictures of diagrams show it as: a "block", or a "plant"."""

    made_by: ClassVar[str] = ""
    """How one makes such a block, where not from its fields by hand."""

    also_made_by: ClassVar[str] = ""
    """A call of the class that makes one too, and of what, for messages about arguments."""

    reaches: ClassVar[str] = ""
    """What of the machine its runs touch, "" for nothing: a scenario needs trust for such a block."""

    reads: ClassVar[tuple[str, ...]] = ()
    """Fields that may be the path of a file, which is read when the block is made."""

    in_steps: ClassVar[bool] = False
    """True where outputs go up and down in steps: their slope, which is all that linear models see, is 0."""

    alone: ClassVar[str] = ""
    """What a run does that no other may do meanwhile, "" for nothing: a study has one worker then."""

    def __dir__(self) -> list[str]:
        """Names to offer while one types."""
        return [name for name in super().__dir__() if name not in FOR_COMPILERS]

    @property
    def start_only(self) -> Mapping[str, str]:
        """Names that look like parameters but cannot be set by a run: name -> what to do instead."""
        return {}

    @property
    def built_anew(self) -> Mapping[str, str]:
        """Other names that `with_value` takes: name -> what to do where nothing is built anew."""
        return {}

    @property
    def numbers_only(self) -> Collection[str]:
        """Parameters for which a run refuses True and False, which for others are 1 and 0."""
        return ()

    @abc.abstractmethod
    def define(self, b: Equations) -> None:
        """Declare ports, states and equations on `b`."""

    def check_parameters(self, values: Mapping[str, Any]) -> None:
        """Refuse values of parameters given to a run that the block would refuse when it is made.

        values : of all its parameters; those that are fields have the names of the fields
        """
        known = {f.name for f in fields(self)}  # type: ignore[arg-type]
        if own := {name: value for name, value in values.items() if name in known}:
            self.with_fields(**own)

    def with_fields(self, **values: Any) -> Self:
        """This block with other values in some fields; expressions of parameters in the others are kept."""
        made: Self = with_fields(self, values)
        return made

    @property
    def drawn_fields(self) -> tuple[str, ...]:
        """Fields of the block in the diagram; those that are no numbers of a run decide how it is built."""
        return tuple(f.name for f in fields(self))  # type: ignore[arg-type]

    def value_names(self) -> list[str]:
        """What `with_value` may change: the fields the block is made of."""
        return [f.name for f in fields(self) if f.init]  # type: ignore[arg-type]

    def with_value(self, name: str, value: Any) -> Self:
        """This block with another value of one of `value_names`."""
        if not isinstance(name, str):
            made = type(self).__name__
            raise BlockError(f"{made}.with_value: {shown(name)} is no name of a field.", value=name)
        return self.with_fields(**{name: value})

    def closed_otherwise(self, states: Mapping[str, Any]) -> str:
        """Why states at which the block's equations hold are none of its model, "" where nothing is known.

        states : name -> (k,) of all its continuous states
        """
        return ""

    @property
    def called(self) -> str:
        """What its model is called where it is run or linearised by itself."""
        return "block"

    @property
    def jump_cure(self) -> str:
        """What to do where continuous equations of this block jump at a switch."""
        return "Make it an event: b.where_event(condition, a, b) instead of np.where, b.instants for times."

    @property
    def endless_cure(self) -> str:
        """What to do where its events follow each other without end; "" where nothing special is known."""
        return ""

    @property
    def counts_calls(self) -> tuple[str, ...]:
        """Outputs that count events or calls: what hears of every one looks at changes, not at rises."""
        return ()

    @property
    def hears_rises(self) -> Mapping[str, str]:
        """Inputs that hear of events only where they rise above 0: name -> what hears of every change."""
        return {}

    @property
    def shares_equations(self) -> bool:
        """Whether blocks of one shape share what `define` declares, including functions with instances."""
        return True

    def ports_by_name(self) -> tuple[Iterable[str], Iterable[str]] | None:
        """Names of all inputs and outputs if they are known without tracing the equations, else None."""
        return None

    def picture(self) -> BlockPicture | None:
        """The picture in its box in drawings of diagrams; None shows its type only."""
        return None

    def driven(self) -> Block:
        """The block that replaces it under a co-simulation master; itself, unless it steps itself."""
        return self

    def opened(self, inputs: frozenset[str]) -> Block:
        """The block where these inputs are left open on purpose; itself, unless it matters."""
        return self

    def uncoupled(self) -> Block:
        """The block that replaces it in a run without a coupling; itself, if it needs no master."""
        return self

    def port_name(self, name: str) -> str:
        """The name of a port as `define` spells it, for another spelling that users may write."""
        return name
