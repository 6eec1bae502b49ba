"""How things of a plant are called: ports, joints, bodies and parameters by the slug of their label."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence


def slug(label: str | None) -> str:
    """Lower-case label, runs of other characters as one underscore: "control force" -> "control_force"."""
    return re.sub(r"[^a-z0-9]+", "_", (label or "").lower()).strip("_")


def unique_names(entries: Sequence[tuple[str | None, str, int]]) -> list[str]:
    """One name per (label, kind, id): the label's slug, else ``<kind>_<id>``.

    Every name that would occur twice takes its id: two ports "force" are ``force_1`` and ``force_2``.
    """
    wanted = [slug(label) or f"{kind}_{id}" for label, kind, id in entries]
    many = Counter(wanted)
    names: list[str] = []
    for name, (_, kind, id) in zip(wanted, entries, strict=True):
        candidate = name if many[name] == 1 else f"{name}_{id}"
        if candidate in names or (candidate != name and candidate in many):
            candidate = f"{kind}_{id}_{name}"
        names.append(candidate)
    return names
