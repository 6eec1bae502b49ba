"""Libraries that end before their last part, written byte by byte.

Oracle: the layout of an ELF file of 64 bits (System V Application Binary Interface, chapter 4): e_phoff and
e_shoff are the 8 bytes at 32 and at 40; e_phentsize, e_phnum, e_shentsize and e_shnum the 2 bytes each at 54,
56, 58 and 60; of a program header p_offset the 8 bytes at 8 and p_filesz those at 32.
"""

import pytest

from cosim.engines.native.library_file import ends_early

HEADER, PROGRAM, SECTION = 64, 56, 64  # bytes


def library(length, programs=(0, 0), sections=(0, 0), segments=(), magic=b"\x7fELF\x02\x01"):
    """The file: (place, number) of both tables, and (place, size) of the parts that the first one names."""
    data = bytearray(b"\xff" * length)
    data[:6] = magic[:length]

    def put(place, size, number):
        if place + size <= length:
            data[place : place + size] = number.to_bytes(size, "little")

    put(32, 8, programs[0])
    put(40, 8, sections[0])
    for place, number in ((54, PROGRAM), (56, programs[1]), (58, SECTION), (60, sections[1])):
        put(place, 2, number)
    for k, (offset, size) in enumerate(segments):
        put(programs[0] + k * PROGRAM + 8, 8, offset)
        put(programs[0] + k * PROGRAM + 32, 8, size)
    return bytes(data[:length])


CASES = {
    "nothing but the header": (lambda n: library(n), HEADER),
    "the table of parts": (lambda n: library(n, (64, 1), segments=[(0, 8)]), 64 + PROGRAM),
    "the table of sections": (lambda n: library(n, (64, 0), (70, 3)), 70 + 3 * SECTION),
    "the only part": (lambda n: library(n, (64, 1), segments=[(130, 7)]), 137),
    "the second part": (lambda n: library(n, (72, 2), segments=[(0, 9), (200, 31)]), 231),
    "the first of two": (lambda n: library(n, (72, 2), segments=[(250, 40), (200, 31)]), 290),
}


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_whole_from_its_last_byte_on(tmp_path, name):
    made, length = CASES[name]
    file = tmp_path / "model.so"
    for of, early in ((length, False), (length + 1, False), (length - 1, True), (length - 7, True)):
        file.write_bytes(made(of))
        assert ends_early(file) == early, (name, of)


@pytest.mark.parametrize(
    "magic", [b"\x7fELF\x01\x01", b"\x7fELF\x02\x02", b"\x7fElF\x02\x01", b"MZ\x90\0\x03\0"]
)
def test_files_of_other_kinds_are_for_the_loader(tmp_path, magic):
    file = tmp_path / "model.so"
    for length in (6, 40, 64):
        file.write_bytes(library(length, magic=magic))
        assert not ends_early(file)
    file.write_bytes(library(20))
    assert ends_early(file)
