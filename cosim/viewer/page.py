"""One self-contained page: everything in a single HTML file that opens without a network.

page = r.view()                  # a browser tab; in a notebook it shows itself
page.save("run.html")
"""

from __future__ import annotations

import base64
import html
import os
import tempfile
import webbrowser
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from blocks.errors import PlantloopError, shown
from blocks.files import write_whole

if TYPE_CHECKING:
    from cosim.viewer.page_data import PageData  # slow to import: a page may be open before its data

STATIC = Path(__file__).parent / "static"
SCRIPTS = (
    "data.js", "clock.js", "scopes.js", "diagram_block.js", "diagram.js", "polylines.js", "trails.js",
    "solids.js", "motion_links.js", "motion.js", "arrows.js", "table.js", "study.js", "linear.js", "svg.js",
    "study_plots.js", "main.js",
)  # fmt: skip
VENDOR = {"elk": "elk.js", "three": "three.js", "uplot": "uplot.js"}


@dataclass(frozen=True)
class Page:
    """A complete page; `html` is all of it."""

    title: str
    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; returns its path.

        Raises
        ------
        PlantloopError      the file cannot be written
        """
        named = os.fspath(path) if isinstance(path, os.PathLike) else path
        try:
            file = Path(path)
            file.parent.resolve(strict=True)  # no folder is made for a page
            write_whole(file, self.html)
        except (OSError, ValueError, TypeError) as error:
            raise PlantloopError(
                f"the page cannot be written to {shown(named)}: {error}.",
                value=path,
                hint="Give the path of a file.",
            ) from error
        return file

    def open(self, browser: bool = True) -> Path:
        """Show it in the browser, from a temporary file, whose path is returned; or only write that file."""
        folder = Path(tempfile.mkdtemp(prefix="cosim-view-"))
        file = self.save(folder / "page.html")
        if browser:
            webbrowser.open(file.as_uri())
        return file

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame of its own."""
        inside = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{inside}" style="width:100%;height:640px;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<Page '{self.title}': {len(self.html) / 1e6:.1f} MB>"


def view(data: PageData, out: str | os.PathLike[str] | None = None, show: bool = True) -> Page:
    """The page of some contents: written to `out`, else shown in a browser if `show` (notebooks show it).

    Raises
    ------
    PlantloopError      the file cannot be written
    """
    page = Page(data.title, assembled(data))
    if out is not None:
        page.save(out)
    elif show and not _in_notebook():
        page.open()
    return page


def assembled(data: PageData, more: Sequence[str] = (), nonce: str = "") -> str:
    """The HTML of a page.

    more : names of further scripts in `STATIC`, each with a style sheet of the same name where there is one
    nonce : what scripts carry that a content security policy lets run
    """
    wanted = [name for name in VENDOR if _needs(data, name)]
    inside = "\n".join(_element(name, text) for name, text in packed(data).items())
    return _filled(data.title, inside, wanted, more, nonce)


def shell(title: str) -> str:
    """The HTML of a page whose data comes in a script beside it, see `cosim.viewer.early_page`."""
    return _filled(title, "", list(VENDOR), (), "")


def packed(data: PageData) -> dict[str, str]:
    """The data of a page as texts of letters and digits, by the names they have in it."""
    return {"content": _packed(data.text().encode()), "numbers": _packed(data.numbers.all())}


def _filled(title: str, inside: str, wanted: Sequence[str], more: Sequence[str], nonce: str) -> str:
    style = (STATIC / "style.css").read_text("utf-8")
    if "uplot" in wanted:
        style = (STATIC / "vendor" / "uplot.css").read_text("utf-8") + style
    sheets = [sheet for name in more if (sheet := (STATIC / name).with_suffix(".css")).is_file()]
    style += "".join(sheet.read_text("utf-8") for sheet in sheets)
    parts = {
        "@title@": html.escape(title),
        "@style@": style,
        "@data@": inside,
        "@vendor@": "\n".join(_vendor(n) for n in wanted),
        "@scripts@": "\n".join((STATIC / name).read_text("utf-8") for name in (*SCRIPTS, *more)),
    }
    page = (STATIC / "page.html").read_text("utf-8").replace("<script>", f'<script nonce="{nonce}">')
    pieces = []
    for mark, content in parts.items():
        before, _, page = page.partition(mark)
        pieces += [before, content]
    return "".join([*pieces, page])


def _needs(data: PageData, library: str) -> bool:
    if library == "elk":
        return "diagram" in data.content
    if library == "three":
        return any(p["bodies"] for p in data.content.get("plants", ()))
    return "result" in data.content


@lru_cache
def _vendor(name: str) -> str:
    return _element(f"vendor-{name}", _packed((STATIC / "vendor" / VENDOR[name]).read_bytes()))


LEVEL = 4  # of zlib: 9 makes pages 4 % smaller and takes three times as long


def _packed(content: bytes) -> str:
    """Compressed, as text of letters and digits: nothing in it can end the element it stands in."""
    return base64.b64encode(zlib.compress(content, LEVEL)).decode("ascii")


def _element(name: str, text: str) -> str:
    return f'<script type="text/plain" id="{name}">{text}</script>'


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")
