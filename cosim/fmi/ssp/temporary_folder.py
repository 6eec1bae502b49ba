"""A folder for the files of an imported package."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any


class TemporaryFolder:
    """A folder that is removed when the last object that holds this one is gone.

    path : of the folder, which is made

    A deep copy is the same object. A pickled one comes back as None: the folder belongs to this process.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ssp-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> TemporaryFolder:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()
