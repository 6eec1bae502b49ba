"""The files of an SSP package, read without trusting it."""

from __future__ import annotations

import io
import os
import posixpath
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from urllib.parse import unquote

from blocks.files import is_file, is_folder
from cosim.fmi.ssp.ssp_errors import SSPError, fault

DESCRIPTION = "SystemStructure.ssd"
MOST_ENTRIES = 10_000
MOST_BYTES = 2 * 2**30  # limit of the unpacked size of all entries


class SSPArchive:
    """Contents of an .ssp by name.

    content : bytes by name; file : what messages call it

    Raises
    ------
    SSPError      no such file, no zip archive, unsafe or absurdly large entries
    """

    path: Path
    file: str
    content: Mapping[str, bytes]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
            raise SSPError(f"the SSP file is {path!r}, expected the name of an .ssp file.")
        self.path = Path(os.fspath(path))
        self.file = str(self.path)
        if not is_file(self.path):
            raise fault(
                self.file, "a folder" if is_folder(self.path) else "no such file", hint="Give an .ssp file."
            )
        self.content = self._opened(self.path)

    @classmethod
    def inside(cls, content: bytes, file: str) -> SSPArchive:
        """A package inside another one; `file` is its name in messages."""
        made = object.__new__(cls)
        made.path, made.file = Path(file), file
        made.content = made._opened(io.BytesIO(content))
        return made

    def _opened(self, package: Path | io.BytesIO) -> Mapping[str, bytes]:
        try:
            with zipfile.ZipFile(package) as archive:
                return MappingProxyType(self._read(archive))
        except SSPError:
            raise
        except Exception as error:  # a damaged archive may raise anything
            raise fault(self.file, f"no SSP package, or a damaged one: {error}") from error

    def _read(self, archive: zipfile.ZipFile) -> dict[str, bytes]:
        infos, left = archive.infolist(), MOST_BYTES
        if len(infos) > MOST_ENTRIES:
            raise fault(self.file, f"{len(infos)} entries, more than {MOST_ENTRIES}")
        if sum(i.file_size for i in infos) > MOST_BYTES:
            raise fault(self.file, f"it unpacks to more than {MOST_BYTES >> 30} GB")
        found: dict[str, bytes] = {}
        for info in infos:
            name = info.filename.replace("\\", "/")
            parts = PurePosixPath(name).parts
            if (
                name.startswith("/")
                or ".." in parts
                or ":" in name.split("/")[0]
                or "\0" in info.orig_filename
            ):
                raise fault(self.file, f"the entry '{info.filename}' leads out of the package")
            if stat.S_ISLNK(info.external_attr >> 16):
                raise fault(self.file, f"the entry '{info.filename}' is a link")
            if info.flag_bits & 1:
                raise fault(self.file, f"the entry '{info.filename}' is encrypted")
            if name.endswith("/"):
                continue
            with archive.open(info) as entry:
                data = entry.read(left + 1)
            left -= len(data)
            if left < 0:
                raise fault(self.file, f"it unpacks to more than {MOST_BYTES >> 30} GB")
            found["/".join(parts)] = data
        return found

    def get(self, source: str, base: str, asked: str, line: int | None) -> tuple[str, bytes]:
        """The file that an attribute of another file names: its name in the package and its content.

        base : the file that names it; asked : for messages, what names it

        Raises
        ------
        SSPError      it is not in the package
        """
        if "://" in source or source.startswith(("/", "file:")):
            raise fault(base, f"{asked} has the source '{source}', which is not in the package", line)
        folder = posixpath.dirname(base.rpartition("!")[2])
        name, decoded = (posixpath.normpath(posixpath.join(folder, s)) for s in (source, unquote(source)))
        if name not in self.content and decoded in self.content:  # a source is a URI
            name = decoded
        if name not in self.content:
            known = ", ".join(sorted(self.content)[:8])
            raise fault(
                base, f"{asked} has the source '{source}', but there is no '{name}' (there is {known})", line
            )
        return name, self.content[name]
