"""What the standard allows in a description but FMPy's reader does not take, written so that it does.

The reader splits lists at single blanks, takes the first child of a type for its element, and knows neither
types of clocks nor the attributes of types of bytes. Nothing that a description says is lost: what a type
gives to its variables stands at the variables afterwards. Elements keep their lines.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LISTS = ("dependencies", "dependenciesKind", "clocks")
OF_BYTES = ("mimeType", "maxSize")


def repaired(root: Any) -> bool:
    """Change the elements of a description where that is needed; returns whether anything was changed."""
    done = [_plain_lists(root), _types_without_comments(root), _types_of_clocks(root), _types_of_bytes(root)]
    return any(done)


def written(root: Any) -> bytes:
    """The description as a file."""
    from lxml import etree

    found: bytes = etree.tostring(root)
    return found


def repaired_copy(path: Path, root: Any, target: Path) -> None:
    """Write an FMU with another description."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as made:
        for entry in source.infolist():
            if entry.filename == "modelDescription.xml":
                made.writestr(entry, written(root))
                continue
            with source.open(entry) as old, made.open(entry, "w") as new:
                shutil.copyfileobj(old, new)


def _plain_lists(root: Any) -> bool:
    changed = False
    for element in root.iter():
        for name in LISTS if isinstance(element.tag, str) else ():
            said = element.get(name)
            if said is not None and said != " ".join(said.split()):
                element.set(name, " ".join(said.split()))
                changed = True
    return changed


def _types_without_comments(root: Any) -> bool:
    found = [c for t in root.iterfind("TypeDefinitions/*") for c in t if not isinstance(c.tag, str)]
    for comment in found:
        comment.getparent().remove(comment)
    return bool(found)


def _types(root: Any, tag: str) -> Iterator[tuple[Any, list[Any]]]:
    """The types of a tag, each with the variables that have it."""
    for kind in root.findall(f"TypeDefinitions/{tag}"):
        every = root.iterfind(f"ModelVariables/{tag.removesuffix('Type')}")
        yield kind, [v for v in every if v.get("declaredType") == kind.get("name")]


def _types_of_clocks(root: Any) -> bool:
    changed = False
    for kind, variables in list(_types(root, "ClockType")):
        for v in variables:
            timed = any(name.startswith("interval") and name != "intervalVariability" for name in v.attrib)
            for name, value in kind.attrib.items():
                own = name in v.attrib or name in ("name", "description")
                if not own and not (timed and name in ("intervalDecimal", "intervalCounter")):
                    v.set(name, value)
            del v.attrib["declaredType"]
        changed |= bool(variables)
    return changed


def _types_of_bytes(root: Any) -> bool:
    changed = False
    for kind, variables in list(_types(root, "BinaryType")):
        for name in OF_BYTES:
            value = kind.attrib.pop(name, None)
            if value is None:
                continue
            changed = True
            for v in variables:
                if name not in v.attrib:
                    v.set(name, value)
    return changed
