"""Files that strangers wrote or name: read whole within bounds, and found only where they may lie.

What somebody else's model, deck or scenario names is read and written inside the folders it was given, with
symbolic links followed to where they lead; a pipe or a device is never opened as a file.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import struct
import tokenize
import uuid
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from blocks.errors import PlantloopError

MOST_BYTES = 64 * 2**20
"""Size of the largest text that is read, a model for instance."""

DAMAGE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    EOFError,
    MemoryError,
    RuntimeError,  # also of recursion, encryption, unknown compression
    SyntaxError,
    tokenize.TokenError,  # of NumPy, reading the head of an array
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged or forged file of arrays can raise."""


def read_whole(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """Contents of a regular file of at most `most` bytes.

    Raises
    ------
    OSError     it cannot be read, is a folder, a pipe or a device, or is too large: the reason is its
                ``strerror``
    """
    name = os.fspath(path)
    if "\0" in name:
        raise OSError(errno.EINVAL, "its name contains a NUL character", name)
    flags = (
        os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    )
    handle = os.open(name, flags)  # does not wait for the writer of a pipe
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise OSError(errno.EISDIR, "it is a folder", name)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file but a pipe or a device", name)
        data = b"" if found.st_size > most else file.read(found.st_size + 1)  # that much memory is taken
        while found.st_size < len(data) <= most and (more := file.read(2**20)):  # it grows while it is read
            data += more
        if found.st_size > most or len(data) > most:
            raise OSError(errno.EFBIG, f"it is larger than {most / 2**20:g} MB, the most that is read", name)
        return data


def is_file(path: Path) -> bool:
    """Is there a file of this name? No where the name cannot be that of one: too long, with a NUL."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Is there a folder of this name?"""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_no_file(path: Path) -> bool:
    """Is there something else of this name: a folder, a pipe, a device? A file may not take its place."""
    try:
        return path.exists() and not path.is_file()
    except (OSError, ValueError):
        return False


def is_inside(path: Path, folders: Iterable[Path]) -> bool:
    """Does a path lead into one of some folders, or to one of them, where all links are followed?"""
    try:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)
    except (OSError, ValueError):  # a ring of links, a NUL
        return False


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears under its name when it is complete; a link of that name is replaced.

    Raises
    ------
    OSError     it cannot be written; nothing is left then
    """
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "its name contains a NUL character", os.fspath(path))
    if len(os.fspath(path)) > 4000:
        raise OSError(errno.ENAMETOOLONG, "its name is longer than names can be", os.fspath(path))
    if is_no_file(path):
        raise OSError(errno.EISDIR, "it is a folder or a device", os.fspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".plantloop-{uuid.uuid4().hex[:12]}")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary name beside ``target``, moved onto it when the block succeeds and removed when not."""
    temporary = target.with_name(f".{target.stem}-{uuid.uuid4().hex[:8]}{target.suffix}")
    try:
        if is_no_file(target):
            raise OSError("it is a folder or a device")
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, target)
    except (OSError, RuntimeError) as reason:  # the NetCDF library reports a full disk as RuntimeError
        raise PlantloopError(
            f"cannot write '{target}': {reason}.",
            path=str(target),
            hint="Check that there is space and that the folder may be written. Nothing was changed.",
        ) from reason
    finally:
        with suppress(OSError):
            temporary.unlink()


def read_arrays(data: bytes) -> dict[str, np.ndarray]:
    """The arrays of an .npz file that `numpy.savez` wrote: numbers and texts, no more than the file holds.

    Raises
    ------
    one of DAMAGE      it is none, a damaged one, or one made to grow when it is read
    """
    found: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > len(data):
                raise ValueError(f"'{member.filename}' is compressed")
            name = member.filename.removesuffix(".npy")
            if name in found:
                raise ValueError(f"'{name}' is in it twice")
            found[name] = _array(archive.read(member), name)
    return found


def _array(data: bytes, name: str) -> np.ndarray:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.kind not in "biufUS" or dtype.names is not None or min(shape, default=0) < 0:
        raise ValueError(f"'{name}' holds no plain numbers")
    count, rest = 1, len(data) - file.tell()
    for length in shape:
        count *= length
    if count * dtype.itemsize != rest:
        raise ValueError(f"'{name}' holds {rest} bytes, not {count} numbers")
    if not rest:
        return np.zeros(shape, dtype)
    values = np.frombuffer(data, dtype, count, file.tell()).copy()
    return values.reshape(shape, order="F" if fortran else "C")
