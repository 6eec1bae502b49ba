"""Early ends of runs whose verdict is certain: the blocks that watch requirements, and their conditions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from blocks.contract.block import Block
from blocks.errors import PlantloopError
from cosim.study.formulas import Formula, Reduced, Temporal, below, parts
from cosim.study.measures import requirement_formula
from cosim.study.robustness import LEAST
from cosim.study.study_schema import RequirementTable
from cosim.study.verdict_blocks import (
    BROKEN,
    MET,
    AlwaysVerdict,
    ConsequenceVerdict,
    EventuallyVerdict,
    HorizonVerdict,
    ReactionVerdict,
    RequirementWindow,
    UntilVerdict,
    VerdictStop,
)

VERDICT = "@verdict"  # names of blocks that watch begin with it; no block of a user may have such a name
ENDS = "@ends"


@dataclass(frozen=True)
class Watched:
    """A block that watches a requirement, and the conditions its inputs "p" and "q" are margins of.

    breaks : may it find before the end of a run that the requirement is broken?
    """

    block: Block
    conditions: tuple[tuple[str, Formula], ...]
    breaks: bool


@dataclass(frozen=True)
class Ending:
    """``[stop]``: `when` a run may end before its end, and the requirements of the study."""

    when: str
    requirements: tuple[RequirementTable, ...]

    def watched(self) -> dict[str, Watched]:
        """The blocks that watch requirements, by name; requirements that are known only at the end have none.

        Raises
        ------
        PlantloopError     no run could ever end early
        """
        found = {r.name: made for r in self.requirements if (made := watched(r)) is not None}
        late = [r.name for r in self.requirements if r.name not in found]
        breaks = any(one.breaks for one in found.values())
        if late and (self.when == "decided" or (self.when == "certain" and not breaks)):
            raise PlantloopError(
                f"requirement '{late[0]}' is known at the end of a run only: none would end early.",
                path=late[0],
                hint="Give it a window that ends, or leave [stop] out.",
            )
        if self.when == "broken" and not breaks:
            raise PlantloopError(
                "no requirement is known to be broken before the end of a run: none would end early.",
                path="when",
                hint="Write one with always, or give the others a window that ends, or leave [stop] out.",
            )
        return found

    def stop(self) -> VerdictStop:
        """The block that ends a run."""
        return VerdictStop(self.when, tuple(self.watched()))


def watched(r: RequirementTable) -> Watched | None:
    """The block that watches a requirement; None if it is known only at the end of a run."""
    end = r.before if r.within is None or r.whenever is not None else r.after + r.within
    span, within = RequirementWindow(r.after, end), math.inf if r.within is None else r.within
    given = [f for f in (r.always, r.eventually, r.whenever, r.until) if f is not None]
    if r.check is not None or any(isinstance(part, Reduced) for f in given for part in below(f)):
        return None
    if r.formula is not None or any(isinstance(part, Temporal) for f in given for part in below(f)):
        last = horizon(requirement_formula(r))
        return None if math.isinf(last) else Watched(HorizonVerdict(last), (), False)
    if r.whenever is not None and r.eventually is not None:
        return Watched(
            ReactionVerdict(span, within), (("p", r.whenever), ("q", r.eventually)), math.isfinite(within)
        )
    if r.whenever is not None and r.always is not None:
        return Watched(ConsequenceVerdict(span, within), (("p", r.whenever), ("q", r.always)), True)
    if r.until is not None and r.always is not None:
        return Watched(UntilVerdict(span), (("p", r.always), ("q", r.until)), True)
    if r.always is not None:
        return Watched(AlwaysVerdict(span), (("p", r.always),), True)
    assert r.eventually is not None  # checked when the file was read
    return Watched(EventuallyVerdict(span), (("p", r.eventually),), math.isfinite(end))


def horizon(formula: Formula) -> float:
    """How far after an instant a formula depends on signals at most [s]."""
    later = max((horizon(part) for part in parts(formula)), default=0.0)
    return later + formula.end if isinstance(formula, Temporal) else later


def with_verdicts(margin: np.ndarray, verdict: np.ndarray) -> np.ndarray:
    """Margins of some runs, found on the grid, with what events in between have made certain, (m,)."""
    least = np.where(verdict == MET, np.maximum(margin, 0.0), margin)
    return np.where(verdict == BROKEN, np.minimum(least, -LEAST), least)
