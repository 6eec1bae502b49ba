"""Which engine runs a system."""

from __future__ import annotations

from blocks.contract.callback import FUNCTION
from blocks.contract.no_numbers import no_numbers
from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError
from cosim.engines.engine import Engine
from cosim.engines.native.cache import CacheError
from cosim.engines.native.compiler import HOW_TO_GET_ONE, CompilerError
from cosim.engines.reference.reference import ReferenceEngine
from cosim.fmi.coupling.coupling import Coupling
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System


@no_numbers()
def choose(system: System, settings: RunSettings, context: Context) -> Engine:
    """The engine a user asked for; "auto" is native where that is possible.

    Raises
    ------
    PlantloopError      "native" was asked for, and something has no C code
    CompilerError, CacheError   "native" was asked for, and there is no compiler, or it failed
    """
    if settings.coupling is not None or system.units:
        return _coupled(system, settings, settings.coupling or Coupling(), context)
    return _alone(system, settings, context)


def _coupled(system: System, settings: RunSettings, coupling: Coupling, context: Context) -> Engine:
    """A co-simulation master around the engine of our own blocks."""
    from cosim.fmi.coupling.master import MasterEngine

    if not system.units:
        raise PlantloopError(
            f"coupling is given, but nothing in '{system.name}' steps itself.",
            hint="Leave it out, or put a co-simulated FMU in the diagram; a conditional part calls its own.",
        )
    return MasterEngine(system, settings, coupling, context, _alone)


def _alone(system: System, settings: RunSettings, context: Context) -> Engine:
    """The engine of our own blocks."""
    from cosim.engines.native.native import NativeEngine, obstacles

    asked = settings.engine
    if asked == "reference":
        return ReferenceEngine(system, settings, context)
    found = obstacles(system, settings)
    if asked == "native":
        found += system.derived.get("functions without code", lambda: _in_python(system))
        if found:
            raise PlantloopError(
                f"engine 'native' cannot run '{system.name}': {'; '.join(found)}.",
                hint="engine='auto' compiles what it can and leaves the rest to Python.",
            )
        return NativeEngine(system, settings, context)
    if found:
        engine = ReferenceEngine(system, settings, context)
        engine.why = "; ".join(found)
        return engine
    try:
        return NativeEngine(system, settings, context)
    except (CompilerError, CacheError) as error:
        note = str(error) if error.hint else f"{error} {HOW_TO_GET_ONE}"
        warn_user(f"running with the slow reference engine: {note}")
        return ReferenceEngine(system, settings, context)


def _in_python(system: System) -> list[str]:
    """Functions that no machine code stands for, each once."""
    calls = zip(system.calls, system.callers, strict=True)
    found = [(path, call.about) for call, path in calls if call.compiled is None]
    outside = [(s.path, s.external) for s in system.schedule if s.external is not None]
    found += [(path, block.about) for path, block in outside if block.make is not None]
    return [
        f"block '{path}' calls {about} in Python"
        if about != FUNCTION
        else f"block '{path}' is a Python function"
        for path, about in dict.fromkeys(found)
    ]
