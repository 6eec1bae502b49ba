"""What of an FMU is unpacked, and its size: 4 GiB, 512 MiB of description, counted while it is written."""

from __future__ import annotations

import contextlib
import zipfile
from types import SimpleNamespace

import pytest

from cosim.fmi import package
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.package import Package

DESCRIPTION = "modelDescription.xml"


@pytest.fixture
def path(tmp_path):
    with zipfile.ZipFile(tmp_path / "u.fmu", "w") as archive:
        archive.writestr(DESCRIPTION, "<x/>")
    return tmp_path / "u.fmu"


@pytest.mark.parametrize(("size", "well"), [(512 * 2**20, True), (512 * 2**20 + 1, False)])
def test_a_description_of_more_than_512_mib_is_not_read(path, monkeypatch, size, well):
    def checked(path, archive):
        entry = archive.getinfo(DESCRIPTION)
        entry.file_size = size
        return {DESCRIPTION: entry}, set()

    monkeypatch.setattr(package, "_checked", checked)
    monkeypatch.setattr(Package, "_read", lambda self, archive, name: b"read")
    if well:
        assert Package(path).xml == b"read"
    else:
        with pytest.raises(FMUError, match="modelDescription.xml is larger than 512 MB"):
            Package(path)


class Part(bytes):
    """As long as 2 GiB when it is counted."""

    def __len__(self):
        return 2**31


@pytest.mark.parametrize("parts", [2, 3])
def test_more_than_4_gib_are_not_written(path, tmp_path, monkeypatch, parts):
    found, left = Package(path), [Part(b"x")] * parts

    class Archive:
        def open(self, entry):
            return contextlib.nullcontext(SimpleNamespace(read=lambda n: left.pop() if left else b""))

    monkeypatch.setattr(Package, "_opened", lambda self: contextlib.nullcontext(Archive()))
    folder = tmp_path / "out"
    folder.mkdir()
    if parts == 2:
        found.extract(folder)
        assert (folder / DESCRIPTION).read_bytes() == b"xx"
    else:
        with pytest.raises(FMUError, match="it unpacks to more than 4 GB"):
            found.extract(folder)


def test_sources_and_documentation_stay_in_the_archive(path, tmp_path):
    """What runs may read everything else, below `resources` whatever it is called."""
    kept = ["binaries/x86_64-linux/u.so", "extra/a.csv", "resources/sources/a.c", "sources.txt"]
    with zipfile.ZipFile(path, "a") as archive:
        for name in (*kept, "sources/a.c", "documentation/index.html"):
            archive.writestr(name, "x")
    Package(path).extract(tmp_path / "out")
    files = [p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file()]
    assert sorted(files) == sorted([*kept, DESCRIPTION])
