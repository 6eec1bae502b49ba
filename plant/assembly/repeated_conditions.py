"""What is said of conditions that hold by themselves or repeat others, by element."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from plant.constraints.closure import Closure
from plant.constraints.conditions import NamedConstraint
from plant.mechanics.mechanism import GROUND

FULL = 10  # joints whose repeated conditions are listed one by one, where there are more than twice as many
NOT_FOLLOWED = " Where its expression asks for another motion later than at the start, that is not followed."


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
        names = [other.name for other in others if other is not constraint]
        if not names or any(not lost[k] for k in own):
            names += [n for n in loop_of(closure, constraint) if n not in names]
        lines.append(
            f"{constraint.where}: {len(own)} of its {size[constraint]} conditions "
            f"({', '.join(conditions[k].text for k in sorted(own))}) repeat what "
            f"{', '.join(names) or 'the other joints'} fix already; motion unaffected, but how these "
            "joints share the reactions is not determined (the smallest are taken)."
            + (NOT_FOLLOWED if any(conditions[k].driven for k in own) else "")
        )
    if rest:
        lines.append(
            f"{rest[0].where}, and {len(rest) - 1} more up to {rest[-1].where}: some of their conditions "
            "repeat what other joints fix already, as those named before do; motion unaffected."
        )
    return lines


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
