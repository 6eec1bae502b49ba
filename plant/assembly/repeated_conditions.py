"""What is said of conditions that hold by themselves or repeat others, by element."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from plant.constraints.closure import Closure
from plant.constraints.conditions import Condition, NamedConstraint
from plant.mechanics.mechanism import GROUND

FULL = 10  # joints whose repeated conditions are listed one by one, where there are more than twice as many
NOT_FOLLOWED = " Where its expression asks for another motion later than at the start, that is not followed."
LOOKED_AT = (
    " So it is at all instants and poses looked at, chosen at random; what its expression asks for elsewhere "
    "is not followed."
)


def repetitions(closure: Closure, lost: Mapping[int, set[int]]) -> list[str]:
    """A line for each element with conditions that hold by themselves or repeat others.

    lost : for each such condition those that it repeats
    """
    conditions = closure.conditions
    lines = []
    size = Counter(c.constraint for c in conditions)
    of: dict[NamedConstraint, list[int]] = {}
    for k in lost:
        of.setdefault(conditions[k].constraint, []).append(k)
    undriven = [c for c, own in of.items() if not any(conditions[k].driven for k in own)]
    rest = undriven[FULL:] if len(undriven) > 2 * FULL else []
    for constraint, own in of.items():
        if constraint in rest:
            continue
        others = dict.fromkeys(conditions[o].constraint for k in own for o in sorted(lost[k]))
        own_driven = any(conditions[k].driven for k in own)
        names = [other.name for other in others if other is not constraint]
        if not names or any(not lost[k] for k in own):
            names += [n for n in loop_of(closure, constraint) if n not in names]
        lines.append(
            f"{constraint.where}: {len(own)} of its {size[constraint]} conditions "
            f"({', '.join(conditions[k].text for k in sorted(own))}) repeat what "
            f"{', '.join(names) or 'the other joints'} fix already; motion unaffected, but how these "
            "joints share the reactions is not determined (the smallest are taken)."
            + _reservation([conditions[k] for k in {*own, *(o for k in own for o in lost[k])}], own_driven)
        )
    if rest:
        lines.append(
            f"{rest[0].where}, and {len(rest) - 1} more up to {rest[-1].where}: some of their conditions "
            "repeat what other joints fix already, as those named before do; motion unaffected."
        )
    return lines


def _reservation(alike: list[Condition], driven: bool) -> str:
    """What is not known of conditions that repeat each other, where some change with TIME or place."""
    if any(c.uneven for c in alike):
        return LOOKED_AT
    return NOT_FOLLOWED if driven else ""


def loop_of(closure: Closure, constraint: NamedConstraint) -> list[str]:
    """Joints of the tree between a constraint's markers."""
    mechanism = closure.mechanics.mechanism
    if constraint.ends is None:
        return []
    ends = [mechanism.place(id).link for id in constraint.ends]
    paths = [set(mechanism.path(link)) if link != GROUND else set() for link in ends]
    between = sorted(paths[0] ^ paths[1])
    joints = [mechanism.links[k].connection for k in between]
    return [joint.label for joint in joints if joint is not None]
