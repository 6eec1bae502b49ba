"""Values of parameters as the XML of parameter sets has them: numbers, texts, and arrays of them, row-major.

Arrays are of SSP 2.0: of numbers and truth values the words of an attribute, of texts, items and bytes one
ssv:Value each. Source: SSP 2.0, SystemStructureParameterValues, TParameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lxml import etree

TYPES = ("Real", "Integer", "Boolean", "String", "Enumeration", "Binary")
NEWER_TYPES = (
    "Float64", "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Clock",
)  # fmt: skip
TEXTS = ("String", "Enumeration", "Binary")


def truth(text: str) -> bool:
    """A truth value from its spelling in XML.

    Raises
    ------
    ValueError      it is none
    """
    if text not in ("true", "false", "0", "1"):
        raise ValueError(text)
    return text in ("true", "1")


def _number(text: str) -> float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)


_READ: Mapping[str, Callable[[str], Any]] = {
    "Boolean": truth, "String": str, "Binary": bytes.fromhex, "Enumeration": str,
}  # fmt: skip


def read_value(typed: Any, word: str) -> Any:
    """The value in an element of a type, of an array a tuple; items of enumerations are texts.

    Raises
    ------
    ValueError      none of the type, none at all, or two; it says what the parameter does, "is ..., which"
    """
    whole = typed.get("value")
    each = [e.get("value", "") for e in typed if isinstance(e.tag, str) and e.tag.endswith("}Value")]
    if (whole is None) == (not each):
        raise ValueError("has its value twice" if each else "has no value")
    given = each or [whole]
    texts = given if word in TEXTS else [part for text in given for part in text.split()]
    try:
        found = tuple(_READ.get(word, _number)(text) for text in texts)
    except ValueError:
        found = ()
    if not found:
        raise ValueError(f"is '{' '.join(given)}', which is no {word}")
    return found[0] if len(found) == 1 else found


def check_size(value: Any, dimensions: Sequence[Any]) -> None:
    """Check that a value has the size in its ssc:Dimension; a single component fills an array.

    Raises
    ------
    ValueError      it has others, or a size is none; it says what the parameter does
    """
    sizes = [d.get("size") for d in dimensions]
    if not sizes or None in sizes:  # the sizes are not given here
        return
    if not all(size.isascii() and size.isdigit() for size in sizes):
        raise ValueError(f"has the dimensions {' '.join(sizes)}, expected whole numbers")
    size = math.prod(map(int, sizes))
    if isinstance(value, tuple) and len(value) != size:
        raise ValueError(f"has {len(value)} values, its dimensions say {size}")


def write_value(typed: Any, value: Any, child: str) -> None:
    """Put a value, of an array a list, into an element of a type; `child` is the name of an array's texts."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    if parts is value and any(isinstance(v, (str, bytes)) for v in parts):
        for part in parts:
            etree.SubElement(typed, child, value=_text(part))
    else:
        typed.set("value", " ".join(map(_text, parts)))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
