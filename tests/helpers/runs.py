"""`simulate` and `Simulation` on one engine for all tests of the rules of time, and short wiring.

PLANTLOOP_TEST_ENGINE names the engine; without, it is the reference, which compiles nothing.
"""

from __future__ import annotations

import os
from functools import partial

import cosim
from blocks import Block

ENGINE = os.environ.get("PLANTLOOP_TEST_ENGINE", "reference")

simulate = partial(cosim.simulate, engine=ENGINE)
Simulation = partial(cosim.Simulation, engine=ENGINE)


def build(connections: str, **blocks: Block | cosim.Diagram) -> cosim.Diagram:
    """Diagram of named blocks; connections are written "source.port>target.port", with blanks between."""
    d = cosim.Diagram("d")
    for name, block in blocks.items():
        d.add(name, block)
    for text in connections.split():
        d.connect(*text.split(">"))
    return d
