"""Scenario files: a run described in TOML, so that it needs no Python.

::

    from cosim.scenario import load_scenario

    scenario = load_scenario("examples/inverted_pendulum/scenario.toml")
    result = scenario.run()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blocks.exports import Exports

if TYPE_CHECKING:
    from cosim.scenario.loader import load_scenario as load_scenario
    from cosim.scenario.scenario import Scenario as Scenario

_HOMES = {"Scenario": "cosim.scenario.scenario", "load_scenario": "cosim.scenario.loader"}

if not TYPE_CHECKING:  # type checkers see only what is imported above
    _exports = Exports(__name__, _HOMES)
    __getattr__, __dir__ = _exports.get, _exports.dir
