"""Moving pictures as files: what stays in a figure is drawn once, what moves once per frame.

    film = Film(figure, moving)
    writer_of(Path("motion.gif"))(Path("motion.gif"), frames(), 25.0)

Pixels go to the file as they are: to Pillow in the same colours for all frames, to ffmpeg through a pipe.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.errors import ModelError
from blocks.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

LOOKED_AT = 12  # frames that the colours of a .gif are those of
COLOURS = 256  # of a .gif
Frames = Iterator[np.ndarray]
"""Pictures (height, width, 4), uint8: red, green, blue and opacity."""


class Film:
    """The frames of a figure in which some artists of axes move, in front of all that stays."""

    def __init__(self, figure: Figure, artists: Sequence[Any]) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import, and only films need it

        self._artists = sorted(artists, key=lambda artist: artist.get_zorder())
        self._canvas: Any = FigureCanvasAgg(figure)
        for artist in artists:
            artist.set_animated(True)
        self._canvas.draw()
        self._still = self._canvas.copy_from_bbox(figure.bbox)

    def frame(self) -> np.ndarray:
        """The picture with the artists as they are now, (height, width, 4) uint8."""
        self._canvas.restore_region(self._still)
        for artist in self._artists:
            artist.axes.draw_artist(artist)
        return np.array(self._canvas.buffer_rgba())


def writer_of(file: Path) -> Callable[[Path, Frames, float], None]:
    """What writes frames to a file with this suffix, at a number of frames per second.

    Raises
    ------
    ModelError    another kind of file, no ffmpeg for .mp4
    """
    suffix = file.suffix.lower()
    if suffix == ".gif":
        return _write_gif
    if suffix != ".mp4":
        raise ModelError(f"'{file}': animations are .gif or .mp4, got '{file.suffix}'.", path=str(file))
    from matplotlib.animation import FFMpegWriter

    if not FFMpegWriter.isAvailable():
        raise ModelError(
            f"'{file}': .mp4 needs the program ffmpeg, which is not found.",
            path=str(file),
            hint="Install ffmpeg, or write a .gif.",
        )
    return _write_mp4


def _write_gif(file: Path, frames: Frames, fps: float) -> None:
    """A film that begins again at its end, in the most frequent colours of its first frames."""
    begin = list(islice(frames, LOOKED_AT))
    palette = _Palette(begin)
    with replacing(file) as temporary:
        first, *rest = map(palette.picture, chain(begin, frames))
        times = np.round(np.arange(len(rest) + 2) * 100.0 / fps)  # hundredths of a second
        delays = [int(10 * delay) for delay in np.diff(times)]  # ms
        first.save(temporary, "GIF", save_all=True, append_images=rest, duration=delays, loop=0)


class _Palette:
    """The most frequent colours of some frames; every other colour becomes the nearest of these."""

    def __init__(self, frames: Sequence[np.ndarray]) -> None:
        found, times = np.unique([_packed(frame) for frame in frames], return_counts=True)
        most = found[np.argsort(-times, kind="stable")[:COLOURS]]
        self._colours = _unpacked(most)
        self._number_of = np.full(1 << 24, -1, dtype=np.int16)  # of each colour; -1: not looked for yet
        self._number_of[most] = np.arange(len(most))

    def picture(self, frame: np.ndarray) -> Image:
        """A frame in these colours."""
        from PIL.Image import fromarray

        packed = _packed(frame)
        numbers = self._number_of[packed]
        if (numbers < 0).any():
            new = np.unique(packed[numbers < 0])
            apart = _unpacked(new).astype(int)[:, None] - self._colours
            self._number_of[new] = (apart**2).sum(axis=2).argmin(axis=1)
            numbers = self._number_of[packed]
        made = fromarray(numbers.astype(np.uint8)).convert("P")
        made.putpalette(self._colours.tobytes())
        return made


def _packed(frame: np.ndarray) -> np.ndarray:
    """Colours as whole numbers, (height, width)."""
    red, green, blue, _ = np.moveaxis(frame.astype(np.int32), 2, 0)
    return red << 16 | green << 8 | blue


def _unpacked(colours: np.ndarray) -> np.ndarray:
    """Red, green and blue of n such numbers, (n, 3) uint8."""
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.uint8)


def _write_mp4(file: Path, frames: Frames, fps: float) -> None:
    """A film of H.264, whose width and height have to be even."""
    from matplotlib.animation import FFMpegWriter

    first = next(frames)
    height, width = first.shape[:2]
    pixels = ["-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{width}x{height}", "-framerate", repr(fps)]
    how = ["-vcodec", "h264", "-pix_fmt", "yuv420p", "-f", "mp4", "-y"]
    with replacing(file) as temporary, tempfile.TemporaryFile() as said:
        command = [
            FFMpegWriter.bin_path(),
            "-loglevel",
            "error",
            *pixels,
            "-i",
            "pipe:",
            *how,
            str(temporary),
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said) as ffmpeg:
            assert ffmpeg.stdin is not None  # a pipe
            try:
                for frame in chain([first], frames):
                    ffmpeg.stdin.write(frame.tobytes())
                ffmpeg.stdin.close()
            except BrokenPipeError:
                pass  # it has ended, and said why
            except BaseException:
                ffmpeg.kill()
                raise
        said.seek(0)
        if ffmpeg.returncode:
            raise OSError(f"ffmpeg has failed: {said.read(2000).decode(errors='replace').strip()}")
