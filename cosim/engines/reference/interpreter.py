"""The parts of the reference engine on one context, each made from those before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blocks.errors import SimulationError
from cosim.engines.counters import Counters
from cosim.engines.methods.solvers import SOLVERS
from cosim.engines.methods.steppers import Problem, Stepper
from cosim.engines.methods.tolerances import RunSizes
from cosim.engines.methods.turning import TurningBodies, bodies_of
from cosim.engines.reference.acceptance import Acceptance
from cosim.engines.reference.crossings import Crossings
from cosim.engines.reference.events import Events
from cosim.engines.reference.integrator import StretchIntegrator
from cosim.engines.reference.invariants import Invariants
from cosim.engines.reference.restart import Restart
from cosim.engines.reference.right_hand_side import RightHandSide
from cosim.engines.reference.scheduler import Scheduler
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System


@dataclass(frozen=True)
class Interpreter:
    """A system with a context in readable Python over CasADi's virtual machine."""

    workspace: Workspace
    unknowns: Unknowns
    right_hand_side: RightHandSide
    invariants: Invariants
    scheduler: Scheduler
    restart: Restart
    events: Events
    stepper: Stepper
    integrator: StretchIntegrator
    sizes: RunSizes
    atol: np.ndarray

    def follow_parameters(self) -> None:
        """Take absolute tolerances for the parameters that the context has now."""
        if self.sizes.follow(self.workspace.context.p):
            self.atol[:] = self.workspace.settings.atol * self.sizes.values


def interpreter(
    system: System, settings: RunSettings, context: Context, counters: Counters | None = None
) -> Interpreter:
    """All parts for a system and the context that they change."""
    workspace = Workspace(system, settings, context, counters or Counters())
    unknowns = Unknowns(workspace)
    right_hand_side = RightHandSide(workspace, unknowns)
    invariants = Invariants(workspace, unknowns)
    scheduler = Scheduler(workspace, unknowns)
    acceptance = Acceptance(workspace, unknowns)
    restart = Restart(workspace, unknowns, invariants, acceptance)
    crossings = Crossings(workspace, unknowns, invariants)
    events = Events(workspace, unknowns, crossings, restart)

    def explained(t: float, x: np.ndarray) -> SimulationError:
        workspace.put(t, x)
        unknowns.refresh()
        return workspace.non_finite(t)

    sizes, table = RunSizes(system, context.p), bodies_of(system)
    atol = settings.atol * sizes.values
    problem = Problem(
        f=right_hand_side.derivative,
        linearise=right_hand_side.linearise,
        atol=atol,
        counters=workspace.counters,
        state_name=system.state_name,
        on_invariants=invariants.restored,
        longest_step=unknowns.longest_step,
        explain=explained,
        noise=invariants.noise if system.rounding.any() else None,
        corners=right_hand_side.corners if right_hand_side.bends else None,
        bodies=TurningBodies(table, atol) if len(table) else None,
    )
    stepper = SOLVERS[settings.solver].make(problem, settings)
    integrator = StretchIntegrator(workspace, unknowns, acceptance, crossings, invariants, stepper)
    return Interpreter(
        workspace, unknowns, right_hand_side, invariants, scheduler, restart, events, stepper, integrator,
        sizes, atol,
    )  # fmt: skip
