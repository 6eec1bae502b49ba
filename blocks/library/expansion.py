"""Scalars expand to vectors where a block says so; formulas with events go component by component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract.block import Equations
from blocks.contract.symbols import Array
from blocks.errors import BlockError


def input_like(b: Equations, name: str, value: ArrayLike) -> Array:
    """An input with as many components as a field that belongs to it, such as its initial value.

    value : (n,) asks for n components; a number leaves the size to what is connected
    """
    return b.input(name, size=np.size(value) if np.ndim(value) else None)


def together(b: Equations, block: Any, **signals: Array) -> list[Array]:
    """All signals at one size: scalars expand to the widest, other sizes must be equal.

    Parameters
    ----------
    signals : arrays of shape () or (n,) by the name to use in the message

    Returns
    -------
    list of (n,) arrays, in the order given

    Raises
    ------
    BlockError    sizes differ; not while sizes are still being found (a mismatch may then go away)
    """
    sizes = {name: int(np.size(signal)) for name, signal in signals.items()}
    widest = max(sizes.values())
    if any(size not in (1, widest) for size in sizes.values()):
        if b.provisional:
            return [np.zeros(widest) for _ in signals]
        listed = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise BlockError(
            f"{type(block).__name__}: sizes differ: {listed}.",
            value=sizes,
            hint="Make them equal (Mux, Selector) or scalar; a scalar expands to a vector.",
        )
    return [np.broadcast_to(signal, (widest,)) for signal in signals.values()]


def each(function: Callable[..., Array], *signals: Array) -> Array:
    """A formula with events applied to every component."""
    return np.stack([function(*components) for components in zip(*signals, strict=True)])
