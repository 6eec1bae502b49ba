"""The page on scenario files: its file runs and passes its checks, every table and key there is is on it."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from cosim.scenario import load_scenario
from cosim.scenario.fmu_tables import FMUTable
from cosim.scenario.keys import keys_of
from cosim.scenario.report import findings
from cosim.scenario.schema import (
    About,
    Factory,
    Final,
    Largest,
    ModelTable,
    Outputs,
    Plot,
    PortTable,
    ReplayTable,
    Run,
    Settling,
    Tables,
    WiringTable,
)

PAGE = (Path(__file__).parents[3] / "docs/scenarios.md").read_text()
KINDS = {
    "scenario": About, "model": ModelTable, "model.ports": PortTable, "fmus": FMUTable, "wiring": WiringTable,
    "diagram": Factory, "run": Run, "outputs": Outputs, "outputs.plots": Plot, "checks.final": Final,
    "checks.largest": Largest, "checks.settling": Settling, "replay": ReplayTable,
}  # fmt: skip


def test_the_file_of_the_page_runs(tmp_path):
    file = tmp_path / "tank.toml"
    file.write_text(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1])
    scenario = load_scenario(file)
    found = findings(scenario, scenario.run(engine="reference"))
    assert found and all(finding.passed for finding in found)


def rows(table):
    return " ".join(line for line in PAGE.splitlines() if line.startswith("| `") and f"[{table}" in line)


def test_every_table_is_on_the_page():
    assert [f.name for f in fields(Tables) if not rows(f.name)] == []


@pytest.mark.parametrize("table", KINDS)
def test_every_key_is_on_the_page(table):
    missing = [key for key in keys_of(KINDS[table]) if not re.search(rf"\b{key}\b", rows(table))]
    assert not [key for key in missing if key not in ("ports", "plots")]
