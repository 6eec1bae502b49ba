"""The contents of a page as one JSON text and one row of numbers to which it refers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.contract.block import Block
from blocks.errors import PlantloopError
from cosim.compile.netlist import Netlist
from cosim.signal_tree import Leaf
from cosim.system import System
from cosim.viewer.arrow_data import Flat, arrows
from cosim.viewer.diagram_data import diagram_data

if TYPE_CHECKING:
    from plant.scene import Scene

ALONE = "plant"  # the name of a block that is viewed alone


@dataclass
class NumberRow:
    """Arrays one behind the other; the text refers to them by their first index and shape."""

    parts: list[np.ndarray] = field(default_factory=list)
    count: int = 0

    def put(self, values: Any) -> dict[str, Any]:
        """Store an array; returns the reference for the text."""
        array = np.ascontiguousarray(values, dtype=np.float64)
        found = {"at": self.count, "shape": list(array.shape)}
        self.parts.append(array.ravel())
        self.count += array.size
        return found

    def array(self) -> np.ndarray:
        """(count,) every number."""
        return np.concatenate([np.zeros(0), *self.parts])

    def all(self) -> bytes:
        """Every number, as little-endian doubles."""
        return self.array().astype("<f8").tobytes()


@dataclass
class PageData:
    """Contents of a page: the data in `json`, and the numbers it refers to."""

    title: str
    content: dict[str, Any] = field(default_factory=dict)
    numbers: NumberRow = field(default_factory=NumberRow)

    def text(self) -> str:
        """The JSON text; NaN and infinity, which JSON lacks, are null."""
        return json.dumps({"title": self.title, **self.content}, allow_nan=False, default=str)

    def add_diagram(self, netlist: Netlist, system: System | None, problems: str = "") -> None:
        """The diagram, to be drawn."""
        self.content["diagram"] = diagram_data(netlist, system, problems)

    def add_table(self, name: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
        """A table of texts and numbers, which the page sorts and filters."""
        kept = [[_plain(v) for v in row] for row in rows]
        self.content.setdefault("tables", []).append({"name": name, "columns": list(columns), "rows": kept})

    def add_result(
        self, result: Any, key: str = "result", named: Iterable[tuple[Leaf, Leaf]] | None = None
    ) -> None:
        """Signals, ticks, events and settings of a run (`cosim.Result`).

        named : the signals that are shown, each with another whose names it has in the page; None: all
        """
        put = self.numbers.put
        signals = []
        for leaf, shown in ((one, one) for one in result.tree.leaves) if named is None else named:
            entry: dict[str, Any] = {
                "name": shown.name,
                "components": list(shown.components),
                "units": [leaf.unit(k) for k in range(leaf.size)],
                "sampled": leaf.rate is not None,
            }
            if leaf.name in result.signals:
                entry["values"] = put(result.signals[leaf.name].T)  # component by component
            if leaf.name in result.ticks_of:
                series = result.ticks_of[leaf.name]
                entry["ticks"] = {"time": put(series.time), "values": put(series.values.T)}
            signals.append(entry)
        settings = [[name, str(s.value), str(s.origin)] for name, s in result.settings.items()]
        self.content[key] = {
            "name": result.name,
            "time": put(result.time),
            "signals": signals,
            "events": [{"t": float(e.time), "name": e.name} for e in result.events],
            "settings": settings,
            "statistics": {k: _plain(v) for k, v in result.statistics.items()},
            "complete": result.complete,
            "message": result.message,
        }

    def add_plants(
        self, netlist: Netlist, result: Any, most: int | None = None, forces: Flat | None = None
    ) -> None:
        """Add every plant of a diagram with its poses at the logged instants, or at its start.

        most : numbers of poses; instants are left out evenly where there would be more. None: no limit
        forces : compute forces and reactions that were not logged, see `cosim.viewer.arrow_data`

        Raises
        ------
        PlantloopError      forces are asked for, and what they depend on was not logged
        """
        from plant.arrows import units_of
        from plant.block import Plant

        found = []
        for path, block in blocks_of(netlist):
            scene = _scene(block)
            if scene is None:
                continue
            poses = scene.at_start()
            names = [f"{path}.{name}" for name in scene.states if name]
            moving = result is not None and all(name in result.signals for name in names)
            moment: dict[str, Any] = {"units": units_of(block)} if isinstance(block, Plant) else {}
            if result is not None and moving and names:
                every = 1
                if most is not None:
                    every = max(1, -(-len(result.time) * poses.size // most))
                rows = _rows(len(result.time), every)
                poses = scene.poses(np.concatenate([result.signals[n][rows] for n in names], axis=1))
                if every > 1:
                    moment["instants"] = self.numbers.put(rows)  # which of the logged ones
                if isinstance(block, Plant):
                    found_arrows = arrows(block, path, result, rows, self.numbers.put, forces)
                    moment["arrows"] = found_arrows
                if f"{path}.audit_energy" in result.signals:
                    moment["energy"] = f"{path}.audit_energy"
            shapes = {"poses": self.numbers.put(poses), **moment, **_shapes(scene)}
            found.append({"path": path, "moving": moving, **shapes})
        self.content["plants"] = found


def _scene(block: Block) -> Scene | None:
    """The appearance of a block in space; None if it has none."""
    from plant.block import Plant
    from plant.scene import scene_of

    if isinstance(block, Plant):
        return scene_of(block)
    if block.drawn_as != "plant":
        return None
    from plant.gamma_q.robot_plant import RobotPlant  # only where there may be one: slow to import
    from plant.gamma_q.robot_scene import robot_scene

    return robot_scene(block) if isinstance(block, RobotPlant) else None


def netlist_of(drawn: Any) -> Netlist:
    """The structure of a diagram, a netlist or a block alone."""
    if isinstance(drawn, Netlist):
        return drawn
    if isinstance(drawn, Block):
        return Netlist(ALONE, {ALONE: drawn}, (), {}, frozenset())
    found: Netlist = drawn.netlist()
    return found


def blocks_of(netlist: Netlist, prefix: str = "") -> list[tuple[str, Block]]:
    """Every block of a diagram and of the diagrams in it, by its path."""
    found: list[tuple[str, Block]] = []
    for name, block in netlist.nodes.items():
        if isinstance(block, Netlist):
            found += blocks_of(block, f"{prefix}{name}/")
        elif isinstance(block, Block):
            found.append((prefix + name, block))
    return found


def _rows(count: int, every: int) -> np.ndarray:
    """Numbers of rows, evenly; the last is always there."""
    return np.unique([*range(0, count, every), count - 1])


def _shapes(scene: Any) -> dict[str, Any]:
    """Shapes of a plant as data for JSON."""
    lists = lambda a: None if a is None else np.asarray(a).tolist()
    return {
        "name": scene.name,
        "bodies": [
            {
                "name": b.name, "link": b.link, "points": lists(b.points), "centre": lists(b.centre),
                "mass": b.mass, "axes": lists(b.axes),
            }
            for b in scene.bodies
        ],
        "joints": [
            {"name": j.name, "shape": j.shape, "link": j.link, "point": lists(j.point), "axis": lists(j.axis)}
            for j in scene.joints
        ],
        "forces": [
            {
                "name": f.name, "type": f.type, "links": list(f.links), "points": lists(f.points),
                "spring": f.spring, "damper": f.damper,
            }
            for f in scene.forces
        ],
        "solids": [
            {
                "kind": s.kind, "link": s.link, "sizes": list(s.sizes), "colour": s.colour,
                "frame": lists(np.r_[s.origin, s.axes.T.ravel()]), "ends": s.ends, "inside": s.inside,
                "corners": s.corners,
            }
            for s in scene.solids
        ],
        "gravity": lists(scene.gravity),
        "normal": lists(scene.normal),
    }  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, (int, str, bool)) or value is None:
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return str(value)


def of_diagram(
    drawn: Any,
    system: System | None = None,
    result: Any = None,
    with_result: bool = True,
    most: int | None = None,
    forces: Flat | None = None,
) -> PageData:
    """The page of a diagram, or of one block, with the results of a run, if there was one.

    drawn : Diagram, Netlist or Block; system : the same, flat; None: made here, and the page says why not
    with_result : show the curves of the result too; most, forces : see `PageData.add_plants`
    """
    problems, netlist = "", netlist_of(drawn)
    if not isinstance(drawn, (Block, Netlist)):
        try:
            system = system or drawn.system()
        except PlantloopError as error:
            problems = str(error)
    page = PageData(netlist.name)
    page.add_diagram(netlist, system, problems)
    if result is not None and with_result:
        page.add_result(result)
    page.add_plants(netlist, result, most, forces)
    return page
