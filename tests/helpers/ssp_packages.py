"""Packages of system structures written as text: systems, components, connections."""

from __future__ import annotations

import zipfile

SPACES = " ".join(
    f'xmlns:{short}="http://ssp-standard.org/SSP1/SystemStructure{name}"'
    for short, name in (
        ("ssd", "Description"),
        ("ssc", "Common"),
        ("ssv", "ParameterValues"),
        ("ssm", "ParameterMapping"),
    )
)  # fmt: skip


def definition(system, version="1.0", after=""):
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ssd:SystemStructureDescription {SPACES} '
        f'version="{version}" name="made">\n{system}\n{after}</ssd:SystemStructureDescription>'
    )


def written(path, system, files, version="1.0", after="", **more):
    """A package with some text as its system; FMUs in resources."""
    text = definition(system, version, after)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("SystemStructure.ssd", text)
        for name, file in files.items():
            archive.write(file, f"resources/{name}.fmu")
        for name, content in more.items():
            archive.writestr(f"resources/{name.replace('_', '.')}", content)
    return path


def component(name, fmu, inside=""):
    return f'<ssd:Component name="{name}" source="resources/{fmu}.fmu">{inside}</ssd:Component>'


def system(elements, connections="", before=""):
    links = f"<ssd:Connections>{connections}</ssd:Connections>" if connections else ""
    return f'<ssd:System name="S">{before}<ssd:Elements>{elements}</ssd:Elements>{links}</ssd:System>'


def connection(start, end, inside="", **more):
    (a, b), (c, d) = (side.rpartition(".")[::2] for side in (start, end))
    ends = {"startElement": a, "startConnector": b, "endElement": c, "endConnector": d} | more
    shown = " ".join(f'{k}="{v}"' for k, v in ends.items() if v)
    return f"<ssd:Connection {shown}>{inside}</ssd:Connection>"
