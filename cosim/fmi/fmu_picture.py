"""An FMU as a small picture: a sealed unit with the version and kind of FMI."""

from __future__ import annotations

from blocks.contract.picture import BlockPicture

WIDTH, HEIGHT, STUB = 1.3, 0.62, 0.16


def fmu_picture(version: str, kind: str = "") -> BlockPicture:
    """A box in a box with the version of FMI and the kind ("cs", "me", "se"), and a port on each side."""
    middle, inner = HEIGHT / 2, 0.09
    text = f"FMI {version} {kind}".rstrip()
    return BlockPicture(
        WIDTH + 2 * STUB,
        HEIGHT,
        arrows=(((0.0, middle), (STUB, middle)), ((WIDTH + STUB, middle), (WIDTH + 2 * STUB, middle))),
        boxes=(
            (STUB, 0.0, WIDTH, HEIGHT, ""),
            (STUB + inner, inner, WIDTH - 2 * inner, HEIGHT - 2 * inner, text),
        ),
    )
