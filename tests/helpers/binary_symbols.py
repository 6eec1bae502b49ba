"""What a shared library shows and needs, read from its bytes: ELF, PE and Mach-O of any machine."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from io import BytesIO

import pytest

CROSS = pytest.mark.skipif(
    not os.environ.get("PLANTLOOP_CROSS"),
    reason="compiles for other platforms, minutes with a cold compiler cache: set PLANTLOOP_CROSS=1",
)


@dataclass(frozen=True)
class Library:
    """machine : "x86_64" or "aarch64"; shown : names others see; needed : libraries it is linked with."""

    machine: str
    shown: frozenset[str]
    needed: tuple[str, ...]


def read(content: bytes) -> Library:
    """A library of any of the three formats."""
    if content[:4] == b"\x7fELF":
        return _elf(content)
    return _pe(content) if content[:2] == b"MZ" else _mach_o(content)


def _elf(content):
    from elftools.elf.elffile import ELFFile

    file = ELFFile(BytesIO(content))
    shown = {
        s.name
        for s in file.get_section_by_name(".dynsym").iter_symbols()
        if s["st_shndx"] != "SHN_UNDEF" and s["st_info"]["bind"] == "STB_GLOBAL"
    }
    needed = [t.needed for t in file.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
    machine = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}[file["e_machine"]]
    return Library(machine, frozenset(shown), tuple(needed))


def _text(content, start):
    return content[start : content.index(b"\0", start)].decode()


def _pe(content):
    """Microsoft Portable Executable, sections 3 and 6."""
    head = struct.unpack_from("<I", content, 0x3C)[0]
    machine, n_sections = struct.unpack_from("<HH", content, head + 4)
    size = struct.unpack_from("<H", content, head + 20)[0]
    optional = head + 24
    directories = optional + 112  # of PE32+
    sections = [
        struct.unpack_from("<IIII", content, optional + size + 40 * k + 8) for k in range(n_sections)
    ]  # virtual size, address, raw size, raw place

    def place(address):
        for extent, start, raw_size, raw in sections:
            if start <= address < start + max(extent, raw_size):
                return address - start + raw
        raise ValueError(hex(address))

    exports = place(struct.unpack_from("<I", content, directories)[0])
    n_names, _, names = struct.unpack_from("<III", content, exports + 24)
    table = place(names)
    shown = {
        _text(content, place(struct.unpack_from("<I", content, table + 4 * k)[0])) for k in range(n_names)
    }
    imports = place(struct.unpack_from("<I", content, directories + 8)[0])
    needed = []
    while (name := struct.unpack_from("<I", content, imports + 12)[0]) != 0:
        needed.append(_text(content, place(name)))
        imports += 20
    return Library({0x8664: "x86_64", 0xAA64: "aarch64"}[machine], frozenset(shown), tuple(needed))


def _mach_o(content):
    """Mach-O of 64 bits: load commands, and the external symbols of the symbol table."""
    magic, cpu, _, _, n_commands = struct.unpack_from("<IIIII", content)
    assert magic == 0xFEEDFACF
    shown, needed, at = set(), [], 32
    for _ in range(n_commands):
        command, size = struct.unpack_from("<II", content, at)
        if command == 0xC:  # a library it needs
            needed.append(_text(content, at + struct.unpack_from("<I", content, at + 8)[0]))
        if command == 0x2:  # the symbol table
            symbols, n, strings, _ = struct.unpack_from("<IIII", content, at + 8)
            for k in range(n):
                name, kind, section = struct.unpack_from("<IBB", content, symbols + 16 * k)
                if kind & 0x01 and not kind & 0x10 and section:  # external, not private, defined here
                    shown.add(_text(content, strings + name).removeprefix("_"))
        at += size
    return Library({0x01000007: "x86_64", 0x0100000C: "aarch64"}[cpu], frozenset(shown), tuple(needed))
