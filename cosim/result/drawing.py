"""What a result file contains besides curves: the diagram and the plants as the page shows them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from blocks.errors import PlantloopError

MOST_TEXT = 64 * 2**20  # bytes of the text that are unpacked from a file
MOST_NUMBERS = 2**28


@dataclass(frozen=True, eq=False)
class KeptDrawing:
    """Plain data for `cosim.viewer.stored_drawings`.

    packed : bytes              a JSON text, compressed
    numbers : (n,) float32      what the text refers to
    """

    packed: bytes
    numbers: np.ndarray

    def __post_init__(self) -> None:
        if self.numbers.dtype != np.float32 or self.numbers.ndim != 1:
            raise PlantloopError(
                f"the drawing kept with this result is damaged: its numbers are "
                f"{self.numbers.dtype} of shape {self.numbers.shape}, expected one row of float32.",
                hint="Save the result again, or with drawing=False.",
            )

    @staticmethod
    def of(text: str, numbers: np.ndarray) -> KeptDrawing:
        """From a text and its numbers."""
        return KeptDrawing(zlib.compress(text.encode(), 6), np.asarray(numbers, dtype=np.float32))

    def text(self) -> str:
        """The JSON text.

        Raises
        ------
        PlantloopError      it is damaged, or larger than any that is written
        """
        unpacking = zlib.decompressobj()
        try:
            found = unpacking.decompress(self.packed, MOST_TEXT)
            if unpacking.unconsumed_tail:
                raise ValueError(f"its text has more than {MOST_TEXT} bytes")
            return found.decode()
        except (zlib.error, ValueError) as error:
            raise PlantloopError(
                f"the drawing kept with this result is damaged: {error}.",
                hint="Save the result again, or with drawing=False.",
            ) from error
