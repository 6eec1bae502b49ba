"""XML text to a tree of nodes with true line numbers: safely, strictly, and with errors in plain words.

A deck needs no document type: whatever can declare entities is refused, nothing is fetched or expanded, and
nothing that is not well-formed is repaired.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lxml import etree

from blocks.errors import ModelError
from plant.elements.element import Source, place
from plant.elements.element import line as report

# What is passed over as a whole, and how it ends; text between markup never holds a "<" in well-formed XML.
_PASSED = ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"))
_TAG = re.compile(rb"<[^\s/>!?<][^\s/>]*")
_REFUSED = re.compile(rb"<!ENTITY|<!DOCTYPE\s+[^\s\[>]{1,1000}\s*(?:SYSTEM|PUBLIC|\[)")

# Part of what libxml2 says -> the same in plain words with a cure. First match counts.
_PLAIN = (
    (
        r"Attribute (\S+) redefined",
        r"attribute {0} is written twice; keep one, or correct the name of the other",
    ),
    (r"tag mismatch: (\S+) line (\d+) and (\S+)", r"</{2}> closes <{0}> of line {1}; close <{0}> first"),
    (
        r"Premature end|EndTag: '</' not found",
        r"the file ends inside an element; add the missing closing tags",
    ),
    (r"Extra content", r"something stands after the end of the root element; keep one root element"),
    (r"Unescaped '<'", r"'<' inside an attribute; close the quotes before it, or write &lt;"),
    (r"AttValue: \" or ' expected", r'the value has no quotes; write name="value"'),
    (r"AttValue: ' expected", r"a quote is not closed; add it"),
    (
        r"attributes construct error",
        r"attributes run together; add the missing closing quote, or a blank after it",
    ),
    (r"Specification mandates value for attribute (\S+)", r'attribute {0} has no value; write {0}="..."'),
    (r"xmlParseEntityRef|EntityRef: expecting", r"a bare & in text; write &amp;"),
    (r"Entity '(\S+)' not defined", r"&{0}; is not defined; write the character itself"),
    (r"Couldn't find end of Start Tag (\S+)", r"<{0} has no end; add > or />"),
    (r"Document is empty|Start tag expected", r"there is no XML element; is this a MotionSolve XML file?"),
    (r"Excessive depth", r"elements are nested too deep; close those that should have ended"),
    (r"ncoding", r"{all}; save the file as UTF-8"),
    (r"", r"{all}; correct the markup there"),
)


@dataclass(frozen=True)
class XmlNode:
    """An XML element as written; ``source`` is the line its start tag begins on.

    ``text`` is the text directly inside it, ``tail`` what follows its end.
    """

    tag: str
    attributes: tuple[tuple[str, str], ...]
    text: str
    tail: str
    source: Source
    children: tuple[XmlNode, ...]

    @cached_property
    def written(self) -> dict[str, str]:
        """Attributes by their names in lower case; of two of one name the first."""
        return {name.lower(): text for name, text in reversed(self.attributes)}

    def descendants(self) -> Iterator[XmlNode]:
        """All nodes below this one, in document order."""
        for child in self.children:
            yield child
            yield from child.descendants()


def parse(data: bytes, file: str) -> XmlNode:
    """The root node of an XML document.

    Parameters
    ----------
    data : bytes    the document
    file : str      what messages call it

    Raises
    ------
    ModelError      not well-formed, or it has entities or an external document type
    """
    readable = _readable(data)
    _refuse_entities(readable, file)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise _not_well_formed(readable, file, error) from None
    doctype: Any = root.getroottree().docinfo  # Any: the stubs lack system_url and entities
    if doctype.system_url or doctype.public_id or (doctype.internalDTD and [*doctype.internalDTD.entities()]):
        raise _refusal(file, 1)  # hidden from the scan, by an encoding for instance
    nodes = [node for node in root.iter() if isinstance(node.tag, str)]
    lines = _start_lines(readable)
    if len(lines) != len(nodes):  # an encoding the scan does not read; libxml2 counts to the tag's end
        lines = [int(str(node.sourceline or 0)) for node in nodes]
    return _node(root, dict(zip(nodes, lines, strict=True)), file)


def _node(element: etree._Element, lines: dict[etree._Element, int], file: str) -> XmlNode:
    """The element and all below it as nodes; comments and processing instructions are left out."""
    children = [child for child in element if isinstance(child.tag, str)]
    # Text after a comment belongs to the element as well.
    loose = [child.tail or "" for child in element if not isinstance(child.tag, str)]
    return XmlNode(
        tag=_local(str(element.tag)),
        attributes=tuple((_local(str(name)), str(value)) for name, value in element.attrib.items()),
        text="".join([element.text or "", *loose]),
        tail=(element.tail or "").strip(),
        source=Source(file, lines[element]),
        children=tuple(_node(child, lines, file) for child in children),
    )


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]


def _readable(data: bytes) -> bytes:
    """The document in an encoding in which ``_MARKUP`` sees markup: UTF-16 becomes UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace").encode()
    for start, encoding in ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be")):
        if data.startswith(start):
            return data.decode(encoding, errors="replace").encode()
    return data


def _markup(data: bytes) -> Iterator[tuple[int, bool]]:
    """Where start tags begin, in document order, and (False) where what is refused does; in one pass."""
    at = data.find(b"<")
    while at >= 0:
        after = at + 1
        for opening, closing in _PASSED:
            if data.startswith(opening, at):
                end = data.find(closing, at + len(opening))
                if end < 0:
                    return  # nothing after it is markup; the parser says what is wrong
                after = end + len(closing)
                break
        else:
            if found := _TAG.match(data, at):
                yield at, True
                after = found.end()
            elif _REFUSED.match(data, at):
                yield at, False
        at = data.find(b"<", after)


def _start_lines(data: bytes) -> list[int]:
    """The line of every start tag, in document order, counted from 1."""
    lines, line, counted = [], 1, 0
    for start, is_tag in _markup(data):
        if is_tag:
            line += data.count(b"\n", counted, start)
            counted = start
            lines.append(line)
    return lines


def _refuse_entities(data: bytes, file: str) -> None:
    """Refuse entities, and all that can declare them, before anything is parsed."""
    for start, is_tag in _markup(data):
        if is_tag:
            return  # a document type stands before the root element
        raise _refusal(file, data.count(b"\n", 0, start) + 1)


def _refusal(file: str, line: int) -> ModelError:
    where = f"{file}:{line}"
    return ModelError(
        f"{where}: DOCTYPE: the document type has declarations or names another file. That is refused: "
        "entities declared there can pull in other files and grow without bound.",
        path=where,
        hint="Write the text itself where an entity is used, and delete the DOCTYPE.",
    )


def _not_well_formed(data: bytes, file: str, error: etree.XMLSyntaxError) -> ModelError:
    """A parser's complaint in plain words, with the element it is about."""
    line, column = error.position
    said = re.sub(r", line \d+, column \d+.*", "", str(error.msg))
    plain = next(
        text.format(*found.groups(), all=said) for part, text in _PLAIN if (found := re.search(part, said))
    )
    where = place(Source(file, line), *_around(data, line, column))
    return ModelError(report(where, f"not well-formed XML at column {column}: {plain}"), path=where)


def _around(data: bytes, line: int, column: int) -> tuple[str, str]:
    """Tag and id of the tag that a position is in or after; "XML" where there is none."""
    rows = data.split(b"\n")
    offset = sum(len(row) + 1 for row in rows[: line - 1]) + column - 1
    rest_of_tag = re.split(rb"[<>]", data[offset : offset + 5000], maxsplit=1)[0]
    tags = re.findall(rb"</?[A-Za-z_][^<>]*", data[:offset] + rest_of_tag)
    if not tags:
        return "XML", ""
    text = tags[-1].decode(errors="replace").strip("</")
    id = re.search(r"\bid\s*=\s*[\"']\s*(\w+)", text, re.IGNORECASE)
    return text.split()[0].rstrip("/"), id[1] if id else ""
