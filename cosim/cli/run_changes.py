"""What `cosim run` is given beside a file: its end and values of parameters (`--until`, `--set`)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from blocks.errors import PlantloopError, shown

if TYPE_CHECKING:
    from cosim.cli.package_runs import ExperimentSpan
    from cosim.scenario.source import ScenarioFile


@dataclass(frozen=True)
class RunChanges:
    """Changes of one run: its end [s], and values by name."""

    until: float | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(until: float | None, settings: Sequence[str]) -> RunChanges:
        """From the options; a value is written as in TOML, anything else is text.

        Raises
        ------
        PlantloopError      an end that is no number, a setting that is no NAME=VALUE, a name twice
        """
        if until is not None and not math.isfinite(until):
            raise PlantloopError(f"--until is {until:g}, expected a time [s].", value=until)
        values: dict[str, Any] = {}
        for text in settings:
            name, equals, value = (part.strip() for part in text.partition("="))
            if not name or not equals or not value:
                raise PlantloopError(
                    f"--set is {shown(text)}, expected NAME=VALUE, as --set plant.k=20.", value=text
                )
            if name in values:
                raise PlantloopError(f"--set gives '{name}' two values.", value=text)
            values[name] = _value(value)
        return RunChanges(until, values)

    def __bool__(self) -> bool:
        return self.until is not None or bool(self.values)

    def scenario(self, source: ScenarioFile) -> ScenarioFile:
        """The file with the changes in its tables [run] and [parameters].

        Raises
        ------
        PlantloopError      an end below 0
        """
        if self.until is not None and self.until < 0.0:
            raise PlantloopError(
                f"--until is {self.until:g}, expected a time [s] of 0 or more.", value=self.until
            )
        tables = dict(source.tables)
        for name, changed in (("run", {} if self.until is None else {"until": self.until}),
                              ("parameters", self.values)):  # fmt: skip
            table = tables.get(name, {})
            if changed and isinstance(table, Mapping):  # anything else is refused where it is checked
                new = _dotted(changed)
                tables[name] = {**_without(table, new), **new}
        return replace(source, tables=tables)

    def span(self, span: ExperimentSpan) -> ExperimentSpan:
        """A span that ends at `until` on the clock of the FMUs.

        Raises
        ------
        PlantloopError      it begins after that
        """
        if self.until is None:
            return span
        if self.until < span.start:
            raise PlantloopError(
                f"--until is {self.until:g}, and the default experiment begins at t={span.start:g} s.",
                value=self.until,
                hint="It is the time of the FMU at which the run ends, not the length of the run.",
            )
        return span.to(self.until)


def _dotted(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Values by dotted names, of a table that may have tables inside."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _dotted(value, f"{before}{key}.") if isinstance(value, Mapping) else {before + key: value}
    return found


def _without(table: Mapping[str, Any], names: Container[str], before: str = "") -> dict[str, Any]:
    """A table without values of these dotted names, however it is written."""
    return {
        key: _without(value, names, f"{before}{key}.") if isinstance(value, Mapping) else value
        for key, value in table.items()
        if before + key not in names
    }


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
