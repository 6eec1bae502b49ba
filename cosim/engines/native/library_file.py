"""Is a library that a compiler made whole? Loading one that ends too early ends the process."""

from __future__ import annotations

import struct
from pathlib import Path

PROGRAM = struct.Struct("<IIQQQQ")  # p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz


def ends_early(library: Path) -> bool:
    """Does an ELF file of 64 bits end before its last part? Other kinds of files are for the loader to judge.

    A disk that is full leaves such files where a compiler does not look whether it could write.

    Source: System V Application Binary Interface, chapter 4 (ELF header, program header).
    """
    data = library.read_bytes()
    if data[:4] != b"\x7fELF" or data[4:6] != b"\x02\x01":  # of 64 bits, little-endian
        return False
    if len(data) < 64:
        return True
    programs, sections = struct.unpack_from("<QQ", data, 32)
    program_size, program_count, section_size, section_count = struct.unpack_from("<HHHH", data, 54)
    ends = [programs + program_size * program_count, sections + section_size * section_count]
    if max(ends) > len(data):
        return True
    for k in range(program_count):
        _, _, offset, _, _, size = PROGRAM.unpack_from(data, programs + k * program_size)
        ends.append(offset + size)
    return max(ends) > len(data)
