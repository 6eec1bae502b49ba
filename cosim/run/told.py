"""What a result tells of its run beside the signals: settings, versions, and what it cost."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from functools import cache as once
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np

from cosim.engines.counters import Counters
from cosim.result.record import SettingValue
from cosim.settings import RunSettings
from cosim.system import System
from cosim.version import __version__


def settings_of(
    system: System, s: RunSettings, engine: str, why: str, given: Mapping[str, SettingValue]
) -> Mapping[str, SettingValue]:
    """What a result says of settings, and of parameters and initial values that were given."""
    listed = (*s.used, *(name for name in ("seed", "solve_loops", "wall_limit") if name in s.origins))
    found = {name: SettingValue(getattr(s, name), s.origin(name)) for name in listed}
    found["engine"] = SettingValue(engine, f"engine='{s.engine}'{f': {why}' if why else ''}")
    of_all = system.derived.get("settings of all runs", lambda: _of_all_runs(system))
    return MappingProxyType({**found, **given, **of_all})


def statistics_of(
    system: System, t: float, wall: Callable[[], Mapping[str, Any]], counters: Counters, ticks: Sequence[int]
) -> Mapping[str, Any]:
    """What a result says of a run up to t [s] and what it cost."""
    limited = max(counters.limited_by.items(), key=lambda item: item[1], default=None)
    return MappingProxyType(
        {
            "simulated time [s]": t,
            **wall(),
            "steps": counters.steps,
            "rejected steps": counters.rejected,
            "evaluations": counters.evaluations,
            "events": counters.events,
            "ticks": dict(zip(map(str, system.rates), ticks, strict=True)),
            "state that limited most steps": system.state_name(limited[0]) if limited else None,
        }
    )


@once
def _versions() -> dict[str, SettingValue]:
    """What a run depends on that is installed, and its versions."""
    versions = {"plantloop": __version__, "casadi": ca.CasadiMeta.version(), "numpy": np.__version__}
    versions["python"] = platform.python_version()
    return {f"version of {name}": SettingValue(v, "installed") for name, v in versions.items()}


def _of_all_runs(system: System) -> dict[str, SettingValue]:
    """What results say of a system and what is installed, whatever the settings of a run."""
    ports = {f"port {name}": SettingValue(text, "diagram") for name, text in system.port_rates.items()}
    return ports | _versions() | {"system hash": SettingValue(system.hash, "equations and schedule")}
