"""At least one instance of every block, with the sizes of its inputs, for the contract tests.

Every file of `tests/blocks/tables` is the table of a family.
"""

import importlib
from pathlib import Path

from blocks import Block

EXAMPLES: dict[type[Block], list[tuple[Block, dict[str, int]]]] = {}
for _file in sorted((Path(__file__).parent / "tables").glob("*.py")):
    EXAMPLES |= importlib.import_module(f"tests.blocks.tables.{_file.stem}").EXAMPLES
