"""A page that opens before its data exists: it gets ready while a model is read and run.

early = EarlyPage("scenario.toml")     # a browser tab opens
early.arrive(data)                     # and shows it
"""

from __future__ import annotations

import json
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from blocks.files import is_file, is_folder, write_whole
from cosim.viewer.page import Page, assembled, packed, shell

if TYPE_CHECKING:
    from cosim.viewer.page_data import PageData


SUFFIXES = (".nc", ".npz", ".toml", ".xml", ".fmu")


def early_page(path: Path) -> EarlyPage | None:
    """A page for the data of a file or a folder; None if there is no such file."""
    fits = is_folder(path) or (path.suffix.lower() in SUFFIXES and is_file(path))
    return EarlyPage(path.name) if fits else None


class EarlyPage:
    """A page in a folder of its own, beside it a script that is empty until the data is there.

    Once it is there the file is the whole page, as any other: it can be loaded again, or sent to somebody.
    """

    def __init__(self, title: str) -> None:
        folder = Path(tempfile.mkdtemp(prefix="cosim-view-"))
        self.file, self._data = folder / "page.html", folder / "data.js"
        self._data.write_text("", encoding="utf-8")
        Page(title, shell(title)).save(self.file)
        self._opening = threading.Thread(target=webbrowser.open, args=(self.file.as_uri(),), daemon=True)
        self._opening.start()

    def arrive(self, data: PageData) -> Path:
        """Show the data; returns the file of the page."""
        self._say(f"viewer.given({json.dumps(packed(data))});")
        write_whole(self.file, assembled(data))
        self._opening.join()
        return self.file

    @contextmanager
    def failing(self) -> Iterator[None]:
        """On an error, show in the page as well why it has no data."""
        try:
            yield
        except BaseException as error:
            self._say(f"viewer.failure = {json.dumps(str(error) or type(error).__name__)};")
            self._opening.join()
            raise

    def _say(self, script: str) -> None:
        write_whole(self._data, script)
