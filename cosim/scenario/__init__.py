"""Scenario files: a run described in TOML, so that it needs no Python.

::

    from cosim.scenario import load_scenario

    scenario = load_scenario("examples/inverted_pendulum/scenario.toml")
    result = scenario.run()
"""

from cosim.scenario.loader import load_scenario
from cosim.scenario.scenario import Scenario

__all__ = ["Scenario", "load_scenario"]
