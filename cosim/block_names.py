"""Names of blocks, ports and parameters in a diagram, and connections written as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blocks.errors import WiringError, shown
from cosim.names import COMPONENT

FORBIDDEN = set("./[] \t\n")  # they separate the parts of a path: sub/block.port[component]


def checked_name(name: Any, whose: str) -> str:
    """A name of a port or parameter, as it is.

    Raises
    ------
    WiringError    it is none
    """
    if not isinstance(name, str) or not name or FORBIDDEN & set(name) or not kept_by_files(name):
        expected = "a text without '.', '/', '[', ']' or blanks"
        raise WiringError([f"{whose} name is {shown(name)}, expected {expected}."], value=name)
    return name


def checked_block_name(name: Any, call: str) -> str:
    """A name of a block, as it is; `call` is how one gives it.

    Raises
    ------
    WiringError    it is none
    """
    if not isinstance(name, str):
        raise WiringError([f"the name {name!r} is no text; write {call}."])
    if not name or FORBIDDEN & set(name):
        raise WiringError(
            [f"block name {name!r} must not be empty or contain '.', '/', '[', ']' or blanks."], path=name
        )
    if not kept_by_files(name):
        raise WiringError([f"block name {name!r} has a character that files do not keep."], value=name)
    return name


def checked_diagram_name(name: Any) -> str:
    """A name of a diagram, any text that files keep, as it is.

    Raises
    ------
    WiringError    it is none
    """
    if not isinstance(name, str):
        raise WiringError([f"the name of a diagram is {shown(name)}, expected a text."], value=name)
    if not kept_by_files(name):
        why = "which has a character that files do not keep"
        raise WiringError([f"the name of a diagram is {shown(name)}, {why}."], value=name)
    return name


def kept_by_files(text: str) -> bool:
    """Can files hold a text as it is: has it no NUL, where C ends texts, and no half of a character?"""
    return "\0" not in text and text.encode(errors="ignore").decode() == text


def split_port(text: str) -> tuple[str, str]:
    """Block and port of a text such as "motor.speed".

    Raises
    ------
    WiringError    it names no port
    """
    node, dot, port = text.strip().partition(".")
    if not dot:
        raise WiringError([f"'{text}' names no port; write 'block.port'."], path=text)
    return node, port


def written_connections(text: Any) -> list[tuple[str, str]]:
    """Pairs of output and input of a text such as "a.y -> b.u, c.u", or of a series "a -> b -> c.u".

    In a series what is passed goes on from its only output, also where its input is named.

    Raises
    ------
    WiringError    it is no such text
    """
    parts = [part.strip() for part in text.split("->")] if isinstance(text, str) else []
    inputs = [part.strip() for part in parts[-1].split(",")] if len(parts) > 1 else []
    between = parts[1:-1]
    if not inputs or not all([*parts[:-1], *inputs]) or any("," in part for part in parts[:-1]):
        known = "'block.output -> block.input, other.input', or a series 'a -> b -> c'"
        raise WiringError([f"{shown(text)} is no connection; write {known}."], value=text)
    outputs = [parts[0], *(part.partition(".")[0] for part in between)]
    return [*zip(outputs, between, strict=False), *((outputs[-1], port) for port in inputs)]


def names_port(end: str, port: str) -> bool:
    """Does one end of a written connection, "block" or "block.port", mean the port "block.port"?

    A block alone means its only input or output, which a port of it is then.
    """
    return end.strip() in ends_naming([port])


def ends_naming(ports: Iterable[str]) -> set[str]:
    """The ends of written connections that mean one of some ports, as in `names_port`."""
    return {end for port in ports for end in (port.strip(), port.strip().partition(".")[0])}


def one_component(port: str) -> tuple[str, int] | None:
    """The port and the number in a text such as "a.y[1]"; None: the text names a whole port."""
    found = COMPONENT.fullmatch(port.strip())
    return (found[1], int(found[2])) if found else None
