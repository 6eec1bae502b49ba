"""A folder of results: on disk, with only whole files, or anywhere fsspec reaches ("s3://...")."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from blocks.arguments import file_path
from blocks.errors import PlantloopError

LEFTOVERS = (".writing-*", "*.partial")  # unfinished files: ours, and those of Zarr


@dataclass(frozen=True)
class Folder:
    """Files by names such as "table/000001.parquet"."""

    url: str

    @property
    def remote(self) -> bool:
        """Whether it is somewhere else than on disk."""
        return "://" in self.url

    @cached_property
    def _system(self) -> tuple[Any, str]:
        import fsspec

        try:
            system, root = fsspec.core.url_to_fs(self.url)
        except (ImportError, ValueError) as error:  # a package is missing, or there is no such kind
            raise PlantloopError(
                f"no folder of results is reached at '{self.url}': {str(error).rstrip('.')}.",
                path=self.url,
                hint="Give a folder on disk, or a URL of a kind that fsspec knows, such as s3://bucket/folder.",
            ) from error
        return system, str(root)

    def path(self, name: str) -> Path:
        """The path of a file on disk."""
        return Path(self.url) / name

    def exists(self, name: str = "") -> bool:
        """Whether there is such a file or folder."""
        if self.remote:
            system, root = self._system
            return bool(system.exists(f"{root}/{name}" if name else root))
        return self.path(name).exists()

    def names(self, inside: str = "") -> list[str]:
        """Files and folders inside a folder, without those that are being written."""
        if self.remote:
            system, root = self._system
            place = f"{root}/{inside}" if inside else root
            found = (
                [str(p).rsplit("/", 1)[1] for p in system.ls(place, detail=False)]
                if system.exists(place)
                else []
            )
        else:
            place_ = self.path(inside)
            found = [p.name for p in place_.iterdir()] if place_.is_dir() else []
        return sorted(n for n in found if not n.startswith(".writing-"))

    def read(self, name: str) -> bytes:
        """Content of a file."""
        if self.remote:
            system, root = self._system
            return bytes(system.cat_file(f"{root}/{name}"))
        return self.path(name).read_bytes()

    def check_inside(self) -> None:
        """Check that it has files and folders of its own alone, so that nothing else is read or written.

        Raises
        ------
        PlantloopError     a link, a pipe or a device
        """
        waiting = [] if self.remote else [self.url]
        while waiting:
            for entry in _entries(waiting.pop()):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    what = "a link" if entry.is_symlink() else "neither a file nor a folder"
                    raise PlantloopError(
                        f"'{entry.path}' in the results of a study is {what}.",
                        path=entry.path,
                        hint="No version writes this: do not trust it. In place of a link put its files.",
                    )

    def stamp(self, name: str) -> object:
        """A stamp that changes with the content of a file."""
        if self.remote:
            system, root = self._system
            found = system.info(f"{root}/{name}")
            return (found.get("size"), str(found.get("ETag") or found.get("created") or found.get("mtime")))
        known = self.path(name).stat()
        return (known.st_size, known.st_mtime_ns, known.st_ino)

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all.

        Raises
        ------
        PlantloopError     no room, or not allowed
        """
        try:
            if self.remote:
                system, root = self._system
                system.pipe_file(f"{root}/{name}", content)
                return
            target = self.path(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            aside = target.with_name(f".writing-{uuid.uuid4().hex}")
            try:
                with aside.open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(aside, target)
            finally:
                aside.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self.url, error) from error

    def remove(self, name: str) -> None:
        """Remove a file or a folder, if it is there."""
        if self.remote:
            system, root = self._system
            if system.exists(f"{root}/{name}"):
                system.rm(f"{root}/{name}", recursive=True)
        elif self.path(name).is_dir():
            shutil.rmtree(self.path(name), ignore_errors=True)
        else:
            self.path(name).unlink(missing_ok=True)

    def remove_if_empty(self) -> None:
        """Remove the folder itself if it is empty."""
        if not self.remote:
            with contextlib.suppress(OSError):
                Path(self.url).rmdir()

    def remove_leftovers(self) -> None:
        """Remove files that killed processes left unfinished."""
        if not self.remote and Path(self.url).is_dir():
            for pattern in LEFTOVERS:
                for aside in Path(self.url).rglob(pattern):
                    with contextlib.suppress(OSError):
                        aside.unlink()

    @property
    def size(self) -> int:
        """Total bytes of all files."""
        if self.remote:
            system, root = self._system
            return int(system.du(root))
        return sum(p.stat().st_size for p in Path(self.url).rglob("*") if p.is_file())


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # it went meanwhile
        return []


def url_of(path: Any, what: str) -> str:
    """A folder's path or URL as text; the path of one on this disk ("file:///data/results").

    Raises
    ------
    PlantloopError     it is neither
    """
    if isinstance(path, str) and path.startswith("file://"):
        path = url2pathname(urlsplit(path).path)
    return path if isinstance(path, str) and "://" in path else str(file_path(path, what, "out"))


def cannot_write(url: str, error: OSError) -> PlantloopError:
    """The error for a folder that cannot be written to."""
    return PlantloopError(
        f"cannot write to '{url}': {error.strerror or error}.",
        path=url,
        hint="What was written is complete; make room or give another folder, and go on with --resume.",
    )
