"""The parts of an export that do not depend on version and platform: variables, C code and data, facts."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from cosim.columns import pick, stack
from cosim.engines.codegen.model_c import CFile, generate, generate_jacobian
from cosim.engines.methods.solvers import STIFF
from cosim.engines.methods.stiff import JacobianPlan, linearised
from cosim.engines.methods.tableau import TABLEAUS
from cosim.fmi.export.derivative_code import adjoint, forward
from cosim.fmi.export.descriptions import Facts
from cosim.fmi.export.exported_variables import Variables
from cosim.fmi.export.model_structure import structure_of
from cosim.fmi.export.sources import fixed, renamed
from cosim.fmi.export.static_tables import tables
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System


class ExportedModel:
    """Everything of an exported model that does not depend on version and platform."""

    def __init__(
        self, system: System, settings: RunSettings, context: Context, variables: Variables, stem: str,
        kinds: tuple[str, ...], stop: float | None, interval: float | None,
    ) -> None:  # fmt: skip
        self.system, self.settings, self.context, self.variables = system, settings, context, variables
        self.kinds, self.stop, self.interval = kinds, stop, interval
        self.identifier = _identifier(stem)
        self.name = system.name if system.name not in ("", "block", "diagram") else stem
        generated = generate(system, {settings.solver} & TABLEAUS.keys())  # others are never queried
        self.equations: list[CFile] = list(generated.sources)
        self.plan: JacobianPlan | None = None
        if settings.solver == STIFF:
            function, self.plan = linearised(system)
            self.equations += renamed(generate_jacobian(system, function), "stiff", "unit_stiff_code")
        inputs = [p for v in variables.of("UNIT_INPUT") for p in v.places]
        self.derivatives = {"forward": forward, "adjoint": adjoint}
        for name, made in self.derivatives.items():
            printed = generate_jacobian(system, made(system, self.shown, inputs))
            self.equations += renamed(printed, name, f"unit_{name}_code")
        self.structure = structure_of(system, variables, self.shown, "me" in kinds)
        self.pieces = _pieces(generated.note, variables.shown)
        self._tables = lambda token: tables(
            system, settings, context, variables, self.pieces, self.plan, name=self.name, token=token,
            derivatives=list(self.derivatives), structure=self.structure,
        )  # fmt: skip
        self.token = self._fingerprint()
        self.data = CFile("tables.c", self._tables(self.token), "-O1")

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(self._tables("").encode())
        for f in self.equations:
            digest.update(f.text.encode())
        return f"{{{uuid.UUID(bytes=digest.digest()[:16])}}}"

    @property
    def shown(self) -> ca.SX:
        """Expressions of the shown signals."""
        every = stack(s.expression for s in self.system.signals.values())
        return pick(every, self.variables.shown)

    def facts(self, version: str, sources: bool) -> Facts:
        """Facts in descriptions besides variables."""
        s, fixed_step = self.system, not self.settings.adaptive
        periods = [float(r.period) for r in s.rates]
        listed = [f.name for f in self.files(version)] if sources else []
        completed = bool(len(s.accepted[1]) or s.invariants.numel() or s.delays or s.residual.numel())
        how = f"step {self.settings.step:g} s" if fixed_step else f"rtol {self.settings.rtol:g}"
        own_step = self.settings.step if fixed_step else None
        interval = self.interval or min(periods, default=own_step)
        return Facts(
            self.name, self.identifier, self.token, self.kinds,
            f"{self.name}: solver {self.settings.solver}, {how}",
            interval,
            None if fixed_step else self.settings.rtol, self.stop,
            own_step, completed,
            "forward" in self.derivatives, "adjoint" in self.derivatives, tuple(listed),
        )  # fmt: skip

    def files(self, version: str) -> list[CFile]:
        """All C files."""
        return [self.data, *self.equations, *fixed(version)]


def _identifier(stem: str) -> str:
    found = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return found if not found[0].isdigit() else f"_{found}"


def _pieces(note: Mapping[str, Any], shown: Sequence[int]) -> list[int]:
    """Parts of the code of signals that some places need, in order."""
    piece_of = {place: k for k, places in enumerate(note["outputs"]) for place in places}
    wanted: set[int] = set()
    todo = {piece_of[k] for k in shown}
    while todo:
        piece = todo.pop()
        wanted.add(piece)
        todo |= set(note["needs"][piece]) - wanted
    return sorted(wanted)
