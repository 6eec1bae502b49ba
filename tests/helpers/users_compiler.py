"""The compiler that users get, in tests of what it is that machine code does.

CI compiles the other tests' models with a quick compiler, or without optimising: see `.ci/run`.
"""

from __future__ import annotations

import os


def users_compiler() -> str:
    """What $CC would say, without the level and the quick compiler (tcc) it says for tests."""
    words = [w for w in os.environ.get("CC", "").split() if not w.startswith("-O")]
    return "" if words[:1] == ["tcc"] else " ".join(words)
