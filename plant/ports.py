"""Ports of a plant: its Control_PlantInput, Control_PlantOutput and Post_Request elements."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType

from blocks.arguments import is_number
from blocks.contract.declared import PortHold
from blocks.contract.rate import Rate, Ticks, rational
from blocks.contract.units import Found, Units
from blocks.contract.user_lines import warn_user
from blocks.errors import BlockError, near_miss, shown
from plant.elements import (
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Model,
    Post_Request,
    Reference_Variable,
)
from plant.equations.requests import labels
from plant.names import slug, unique_names
from plant.reporting import PlantWarning


@dataclass(frozen=True)
class Port:
    """One port of a plant.

    name : str                  slug of the label, else input_<id> or output_<id>
    id : int                    of the Control_PlantInput, Control_PlantOutput or Post_Request
    size : int                  number of signals
    variables : tuple of int    Reference_Variable ids of the signals (none for a request)
    labels : tuple of str       what each signal is
    sampling_period : s         0 takes the rate of what drives the port
    offset_time : s             samples at offset_time + k*sampling_period
    hold_order : int            degree of the extrapolation between samples
    origin : str                where the last three come from: "file", "file default" or "with_port"
    units : per signal          what is known of them, None where nothing is; () for nothing at all
    filter : s                  time constant of a second-order filter behind the port (`equations.filters`);
                                0 for none. Inputs only
    """

    name: str
    id: int
    size: int
    variables: tuple[int, ...]
    labels: tuple[str, ...]
    sampling_period: Rate = 0.0
    offset_time: Rate = 0.0
    hold_order: int = 0
    origin: str = "file"
    filter: float = 0.0
    units: Found = field(default=(), repr=False)

    def __str__(self) -> str:
        """Its name and what its signals are, with their units where known, and its own samples."""
        units = self.units if len(self.units) == self.size else self.units * self.size
        named = [
            label if unit is None or label.endswith("]") else f"{label} [{unit.name}]"
            for label, unit in zip(self.labels, units or (None,) * self.size, strict=True)
        ]
        sampled = f" every {self.sampling_period} s" if self.sampling_period else ""
        return f"{self.name} ({', '.join(named)}){sampled}"

    @property
    def unit(self) -> Units:
        """Units of its signals as a block declares them."""
        return tuple(u or "" for u in self.units)

    @property
    def hold(self) -> PortHold:
        """The same as the diagram reads it, in exact rationals."""
        return PortHold(
            rational(self.sampling_period, "sampling_period"),
            rational(self.offset_time, "offset_time"),
            self.hold_order,
            self.origin,
        )

    @property
    def ticks(self) -> Ticks | None:
        """Its own samples; None where it takes the rate of what drives it."""
        hold = self.hold
        return Ticks(hold.sampling_period, hold.offset_time) if hold.sampling_period else None

    def changed(
        self,
        sampling_period: Rate | None = None,
        offset_time: Rate | None = None,
        hold_order: int | None = None,
        filter: float | None = None,
    ) -> Port:
        """The port with other values, checked.

        Raises
        ------
        BlockError    a negative time, or an order that is no whole number from 0 on
        """
        given = {"sampling_period": sampling_period, "offset_time": offset_time}
        values: dict[str, Rate] = {}
        for name, value in given.items():
            if value is None:
                continue
            if rational(value, f"{name} of port '{self.name}'") < 0:
                raise BlockError(
                    f"{name} of port '{self.name}' is {value} s, expected zero or more.", port=self.name
                )
            values[name] = Fraction(value) if isinstance(value, str) else value
        order = self.hold_order if hold_order is None else hold_order
        if isinstance(order, bool) or not isinstance(order, int) or order < 0:
            raise BlockError(
                f"hold_order of port '{self.name}' is {order!r}, expected 0, 1, 2, ...",
                port=self.name,
                value=order,
            )
        return replace(
            self,
            sampling_period=values.get("sampling_period", self.sampling_period),
            offset_time=values.get("offset_time", self.offset_time),
            hold_order=order,
            origin=self.origin if not values and hold_order is None else "with_port",
            filter=self.filter if filter is None else self._time_constant(filter),
        )

    def _time_constant(self, value: float) -> float:
        if not is_number(value) or not 0 <= value < math.inf:
            raise BlockError(
                f"filter of port '{self.name}' is {shown(value)}, expected its time constant in s, above 0 "
                "(0 for none).",
                port=self.name,
                value=value,
            )
        return float(value)


Ports = Mapping[str, Port]


def ports_of(model: Model) -> tuple[Ports, Ports, Ports]:
    """Inputs, outputs and requests by name, each in file order; no two ports share a name."""
    inputs, outputs = model.all(Control_PlantInput), model.all(Control_PlantOutput)
    requests = [r for r in model.all(Post_Request) if is_output(r)]
    entries = [(e.label, "input", e.id) for e in inputs] + [(e.label, "output", e.id) for e in outputs]
    entries += [(f"request {e.label or e.id}", "request", e.id) for e in requests]
    unique = unique_names(entries)
    _mention_doubles([*inputs, *outputs], unique)
    names = iter(unique)
    return (
        _by_name([_control_port(model, next(names), e) for e in inputs]),
        _by_name([_control_port(model, next(names), e) for e in outputs]),
        _by_name([_request_port(next(names), e) for e in requests]),
    )


def _mention_doubles(elements: Sequence[Element], names: Sequence[str]) -> None:
    """Warn of elements whose labels give one port name, so that their ports are called otherwise."""
    same: dict[str, list[tuple[Element, str]]] = {}
    for element, name in zip(elements, names, strict=False):
        same.setdefault(slug(element.label), []).append((element, name))
    for wanted, found in same.items():
        if wanted and len(found) > 1:
            places = " and ".join(element.where for element, _ in found)
            warn_user(
                f"{places}: both labels give the port name '{wanted}', so the ports are "
                f"{', '.join(repr(name) for _, name in found)}. Give each a label of its own.",
                PlantWarning,
            )


def is_output(request: Post_Request) -> bool:
    """Whether a request gives results, which become an output port."""
    return bool(labels(request))


def _by_name(ports: list[Port]) -> Ports:
    return MappingProxyType({port.name: port for port in ports})


def _control_port(model: Model, name: str, element: Control_PlantInput | Control_PlantOutput) -> Port:
    variables = [
        model.find(Reference_Variable, id, element, "variable_id_list") for id in element.variable_id_list
    ]
    return Port(
        name,
        element.id,
        len(variables),
        element.variable_id_list,
        tuple(v.label or f"variable {v.id}" for v in variables),
        element.sampling_period,
        element.offset_time,
        element.hold_order,
    )


def _request_port(name: str, request: Post_Request) -> Port:
    names = labels(request)
    return Port(name, request.id, len(names), (), names)


def found_port(ports: Ports, name: str) -> Port:
    """The port of this name, or of this label.

    Raises
    ------
    BlockError    there is none; offers the near miss
    """
    own = port_name(ports, name)
    if not isinstance(own, str) or own not in ports:
        raise BlockError(f"the plant has no port {shown(name)}; {near_miss(name, ports)}", port=str(name))
    return ports[own]


def port_name(ports: Collection[str], name: str) -> str:
    """The name of the port that `name` means: itself, or the slug of a label as the file spells it."""
    own = slug(name) if isinstance(name, str) else name
    return own if isinstance(name, str) and name not in ports and own in ports else name
