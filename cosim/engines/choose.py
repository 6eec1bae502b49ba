"""Which engine runs a system."""

from __future__ import annotations

import warnings

from blocks.errors import PlantloopError
from cosim.engines.engine import Engine
from cosim.engines.native.cache import CacheError
from cosim.engines.native.compiler import HOW_TO_GET_ONE, CompilerError
from cosim.engines.reference.reference import ReferenceEngine
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System


def choose(system: System, settings: RunSettings, context: Context) -> Engine:
    """The engine a user asked for; "auto" is native where that is possible.

    Raises
    ------
    PlantloopError      "native" was asked for, and something has no C code
    CompilerError, CacheError   "native" was asked for, and there is no compiler, or it failed
    """
    from cosim.engines.native.native import NativeEngine, obstacles

    asked = settings.engine
    if asked == "reference":
        return ReferenceEngine(system, settings, context)
    found = obstacles(system, settings)
    if asked == "native":
        ticked = [s.path for s in system.schedule if s.external is not None]
        found += [f"block '{path}' is a Python function" for path in dict.fromkeys([*system.opaque, *ticked])]
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
        note = str(error) if HOW_TO_GET_ONE in str(error) else f"{error} {HOW_TO_GET_ONE}"
        warnings.warn(f"running with the slow reference engine: {note}", stacklevel=4)
        return ReferenceEngine(system, settings, context)
