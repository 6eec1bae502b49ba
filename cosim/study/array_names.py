"""Names of the arrays that signals are stored in: each a folder, whatever its signal is called."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

MOST = 200  # bytes: a file system takes 255
SEPARATORS = str.maketrans({"/": "|", "\\": "|"})  # either would make a group
OTHERS = ("time", "case")  # arrays that are no signals


def array_names(signals: Iterable[str]) -> dict[str, str]:
    """Signal -> name of its array.

    One that is too long for a file, or that an earlier one has already, gets a hash of the signal. Names that
    differ only in capitals are one, as they are to the files of Windows and macOS.
    """
    found: dict[str, str] = {}
    taken = set(OTHERS)
    for signal in signals:
        name = signal.translate(SEPARATORS)
        begin = name.encode()[:MOST].decode(errors="ignore")
        if begin != name or _as_file(name) in taken:
            name = f"{begin}~{hashlib.sha256(signal.encode()).hexdigest()[:16]}"
        taken.add(_as_file(name))
        found[signal] = name
    return found


def _as_file(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
