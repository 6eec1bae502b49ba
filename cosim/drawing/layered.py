"""Where the boxes of one level of a diagram go: layers from left to right, wires with right angles.

Connections that lead back are found by a walk from the sources, the others give every box its layer (longest
path). In a layer boxes are ordered by the mean place of what they are wired to, up and down in turn, and the
order with the fewest crossings is kept. Their heights then make wires as straight as the order allows: each
layer is a least-squares fit with spacings as constraints, which pooling adjacent violators solves exactly.

Source: Sugiyama, Tagawa and Toda, IEEE Trans. SMC 11 (1981) 109-125; Barlow, Bartholomew, Bremner and Brunk,
Statistical Inference under Order Restrictions (1972), for pooling.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

GAP = 0.5  # between boxes of a layer
WIRE = 0.3  # between wires
SWEEPS = 12


@dataclass
class Box:
    """A box with ports at given heights below its top; the layout finds its place.

    inputs, outputs : port -> height below the top; x, y : left upper corner, y downwards
    """

    name: str
    width: float
    height: float
    inputs: Mapping[str, float] = field(default_factory=dict)
    outputs: Mapping[str, float] = field(default_factory=dict)
    x: float = 0.0
    y: float = 0.0
    layer: int = 0

    @property
    def through(self) -> bool:
        """Is it no box but a place where a wire passes a layer?"""
        return self.width == 0.0


End = tuple[str, str]  # box, port


@dataclass
class Wire:
    """All connections of one output. `back`: targets that lead back; `paths`: corners, per piece drawn."""

    source: End
    targets: list[End]
    back: list[End] = field(default_factory=list)
    hops: list[tuple[End, End]] = field(default_factory=list)  # pieces between neighbouring layers
    paths: list[list[tuple[float, float]]] = field(default_factory=list)
    dots: list[tuple[float, float]] = field(default_factory=list)


@dataclass
class PlacedLevel:
    """Boxes and wires of one level, placed; width and height of all of it."""

    boxes: dict[str, Box]
    wires: list[Wire]
    width: float = 0.0
    height: float = 0.0


def layout(boxes: Sequence[Box], connections: Sequence[tuple[End, End]]) -> PlacedLevel:
    """Place boxes and route the wires between them."""
    found = PlacedLevel({b.name: b for b in boxes}, _wires(connections))
    _find_back(found)
    _find_layers(found)
    layers = _with_passages(found)
    layers = _ordered(found, layers)
    _place(found, layers)
    _route(found, layers)
    found.boxes = {n: b for n, b in found.boxes.items() if not b.through}
    return found


def _wires(connections: Sequence[tuple[End, End]]) -> list[Wire]:
    by_source: dict[End, list[End]] = {}
    for source, target in connections:
        by_source.setdefault(source, []).append(target)
    return [Wire(source, targets) for source, targets in by_source.items()]


def _find_back(found: PlacedLevel) -> None:
    """Targets that are ahead of their source on a walk that begins at boxes without inputs."""
    after: dict[str, list[str]] = {n: [] for n in found.boxes}
    fed = set()
    for w in found.wires:
        after[w.source[0]] += [t for t, _ in w.targets]
        fed |= {t for t, _ in w.targets if t != w.source[0]}
    state: dict[str, int] = {}  # 1: on the way, 2: done
    back = set()
    for root in [n for n in found.boxes if n not in fed] + list(found.boxes):
        if root in state:
            continue
        state[root] = 1
        stack = [(root, iter(after[root]))]
        while stack:
            name, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[name] = 2
                stack.pop()
            elif state.get(following) == 1:
                back.add((name, following))
            elif following not in state:
                state[following] = 1
                stack.append((following, iter(after[following])))
    for w in found.wires:
        w.back = [t for t in w.targets if (w.source[0], t[0]) in back]
        w.targets = [t for t in w.targets if (w.source[0], t[0]) not in back]


def _find_layers(found: PlacedLevel) -> None:
    boxes = found.boxes
    edges = [(w.source[0], t) for w in found.wires for t, _ in w.targets]
    for _ in boxes:  # the longest path has at most as many steps
        moved = False
        for a, b in edges:
            if boxes[b].layer <= boxes[a].layer:
                boxes[b].layer, moved = boxes[a].layer + 1, True
        if not moved:
            break
    fed = {b for _, b in edges}
    for a in boxes:  # sources stand next to what they feed
        ahead = [boxes[b].layer for s, b in edges if s == a]
        if a not in fed and ahead:
            boxes[a].layer = min(ahead) - 1


def _with_passages(found: PlacedLevel) -> list[list[str]]:
    """Layers of names; wires over several layers get a place of their own in those between."""
    boxes = found.boxes
    layers: list[list[str]] = [[] for _ in range(1 + max((b.layer for b in boxes.values()), default=0))]
    for b in boxes.values():
        layers[b.layer].append(b.name)
    for k, w in enumerate(found.wires):
        reached: dict[int, End] = {boxes[w.source[0]].layer: w.source}
        for t in sorted(w.targets, key=lambda t: boxes[t[0]].layer):
            for layer in range(boxes[w.source[0]].layer + 1, boxes[t[0]].layer):
                if layer not in reached:
                    name = f"|{k}|{layer}"
                    boxes[name] = Box(name, 0.0, 0.0, {"": 0.0}, {"": 0.0}, layer=layer)
                    layers[layer].append(name)
                    w.hops.append((reached[layer - 1], (name, "")))
                    reached[layer] = (name, "")
            w.hops.append((reached[boxes[t[0]].layer - 1], t))
    return layers


# --- order ------------------------------------------------------------------------------------------------
def _ordered(found: PlacedLevel, layers: list[list[str]]) -> list[list[str]]:
    hops = [hop for w in found.wires for hop in w.hops]
    best, fewest = [list(names) for names in layers], _crossings(found, layers, hops)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        for k in range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1):
            other = {n: i for i, n in enumerate(layers[k - 1 if forward else k + 1])}
            means = {n: _mean_place(found, n, other, hops, forward) for n in layers[k]}
            place = {n: float(i) for i, n in enumerate(layers[k])}
            layers[k].sort(key=lambda n: means[n] if means[n] is not None else place[n])  # type: ignore[arg-type,return-value]
        count = _crossings(found, layers, hops)
        if count < fewest:
            best, fewest = [list(names) for names in layers], count
    return best


def _mean_place(
    found: PlacedLevel, name: str, other: Mapping[str, int], hops: Sequence[tuple[End, End]], forward: bool
) -> float | None:
    pairs = [(a, b) if forward else (b, a) for a, b in hops]
    seen = [other[a[0]] + _share(found.boxes[a[0]], a[1]) for a, b in pairs if b[0] == name and a[0] in other]
    return float(np.mean(seen)) if seen else None


def _share(box: Box, port: str) -> float:
    ports = {**box.inputs, **box.outputs}
    return ports[port] / box.height * 0.9 if box.height else 0.0


def _crossings(found: PlacedLevel, layers: list[list[str]], hops: Sequence[tuple[End, End]]) -> int:
    place = {n: float(i) for names in layers for i, n in enumerate(names)}
    count = 0
    for k in range(len(layers) - 1):
        ends = [
            (place[a[0]] + _share(found.boxes[a[0]], a[1]), place[b[0]] + _share(found.boxes[b[0]], b[1]))
            for a, b in hops
            if found.boxes[a[0]].layer == k
        ]
        count += sum((p[0] - q[0]) * (p[1] - q[1]) < 0 for p, q in itertools.combinations(ends, 2))
    return count


# --- heights ----------------------------------------------------------------------------------------------
def _place(found: PlacedLevel, layers: list[list[str]]) -> None:
    boxes = found.boxes
    hops = [hop for w in found.wires for hop in w.hops]
    for names in layers:
        y = 0.0
        for n in names:
            boxes[n].y = y
            y += boxes[n].height + (WIRE if boxes[n].through else GAP)
    for sweep in range(2 * SWEEPS):
        forward = sweep % 2 == 0
        for k in range(len(layers)) if forward else range(len(layers) - 1, -1, -1):
            wanted, weight = [], []
            for n in layers[k]:
                ahead = [
                    boxes[b[0]].y + boxes[b[0]].inputs[b[1]] - boxes[n].outputs[a[1]]
                    for a, b in hops
                    if a[0] == n
                ]
                behind = [
                    boxes[a[0]].y + boxes[a[0]].outputs[a[1]] - boxes[n].inputs[b[1]]
                    for a, b in hops
                    if b[0] == n
                ]
                pulls = (
                    behind + ahead if sweep >= SWEEPS else (behind if forward else ahead) or behind + ahead
                )
                wanted.append(float(np.mean(pulls)) if pulls else boxes[n].y)
                weight.append((4.0 if boxes[n].through else 1.0) * max(len(pulls), 0.1))
            for n, y in zip(layers[k], _spread([boxes[n] for n in layers[k]], wanted, weight), strict=True):
                boxes[n].y = y
    top = min((b.y for b in boxes.values()), default=0.0)
    for b in boxes.values():
        b.y -= top


def _spread(boxes: Sequence[Box], wanted: Sequence[float], weight: Sequence[float]) -> list[float]:
    """Heights nearest to those wanted that keep the order and the gaps (pool adjacent violators)."""
    offsets, at = [], 0.0
    for k, b in enumerate(boxes):
        offsets.append(at)
        following = boxes[k + 1] if k + 1 < len(boxes) else b
        at += b.height + (WIRE if b.through or following.through else GAP)
    pools: list[list[float]] = []  # sum of weights, mean, how many
    for target, w, offset in zip(wanted, weight, offsets, strict=True):
        pools.append([w, target - offset, 1])
        while len(pools) > 1 and pools[-2][1] > pools[-1][1]:
            w2, m2, n2 = pools.pop()
            w1, m1, n1 = pools.pop()
            pools.append([w1 + w2, (w1 * m1 + w2 * m2) / (w1 + w2), n1 + n2])
    means = [mean for _, mean, n in pools for _ in range(int(n))]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


# --- wires ------------------------------------------------------------------------------------------------
def _route(found: PlacedLevel, layers: list[list[str]]) -> None:
    boxes = found.boxes
    into = lambda e: boxes[e[0]].y + boxes[e[0]].inputs[e[1]]
    out = lambda e: boxes[e[0]].y + boxes[e[0]].outputs[e[1]]
    lanes = _lanes(found)
    x = 0.0
    nets: list[list[_Net]] = [[] for _ in range(len(layers) + 1)]  # of the channel left of each layer
    for w in found.wires:
        for source in dict.fromkeys(a for a, _ in w.hops):
            ends = [into(b) for a, b in w.hops if a == source]
            nets[boxes[source[0]].layer + 1].append(_Net(w, out(source), ends))
        for t in w.back:
            y = lanes[w.source, t]
            nets[boxes[w.source[0]].layer + 1].append(_Net(w, out(w.source), [y], turns=True))
            nets[boxes[t[0]].layer].append(_Net(w, y, [into(t)], turns=True, returns=True))
    rights, tracks = [], []
    for k in range(len(layers) + 1):
        count = _assign_tracks(nets[k])
        tracks.append(x + WIRE)
        x += WIRE * (count + 1) + (0.3 if 0 < k < len(layers) else 0.0)
        if k < len(layers):
            width = max((boxes[n].width for n in layers[k]), default=0.0)
            for n in layers[k]:
                boxes[n].x = x if boxes[n].through else x + 0.5 * (width - boxes[n].width)
            x += width
            rights.append(x)
    _draw_hops(found, nets, tracks, rights)
    _draw_back(found, lanes, nets, tracks)
    found.width = x
    low = [b.y + b.height for b in boxes.values()] + [y + WIRE for y in lanes.values()]
    found.height = max(low, default=0.0)


@dataclass
class _Net:
    """A wire in a channel: from a height on the left to heights on the right; turns: leads back."""

    wire: Wire
    y: float
    ends: list[float]
    turns: bool = False
    returns: bool = False
    track: int = -1

    @property
    def span(self) -> tuple[float, float]:
        return min(self.y, *self.ends), max(self.y, *self.ends)

    @property
    def straight(self) -> bool:
        return not self.turns and all(abs(e - self.y) < 1e-6 for e in self.ends)


def _assign_tracks(nets: list[_Net]) -> int:
    """Give nets that are not straight a vertical track each does not share where they overlap."""
    bent = [n for n in nets if not n.straight]
    # a wire that comes in at the height at which another goes out turns before it
    bent.sort(key=lambda n: (not n.returns if n.turns else 0.5, -n.y if max(n.ends) > n.y else n.y))
    tracks: list[list[_Net]] = []
    for n in bent:
        low, high = n.span
        clear = lambda o, low=low, high=high: o.span[1] + 0.05 < low or o.span[0] - 0.05 > high
        after = 0
        for k, others in enumerate(tracks):
            if any(abs(o.y - e) < 0.05 for o in others for e in n.ends):
                after = k + 1
        k = next((k for k in range(after, len(tracks)) if all(map(clear, tracks[k]))), len(tracks))
        if k == len(tracks):
            tracks.append([])
        tracks[k].append(n)
        n.track = k
    return len(tracks)


def _lanes(found: PlacedLevel) -> dict[tuple[End, End], float]:
    """Heights below the boxes at which wires lead back, near ones above far ones."""
    boxes = found.boxes
    wanted = [(w.source, t) for w in found.wires for t in w.back]
    wanted.sort(key=lambda pair: boxes[pair[0][0]].layer - boxes[pair[1][0]].layer)
    lanes: dict[tuple[End, End], float] = {}
    taken: list[tuple[int, int, float]] = []
    for source, target in wanted:
        low, high = boxes[target[0]].layer, boxes[source[0]].layer
        between = [b for b in boxes.values() if low <= b.layer <= high]
        y = max(b.y + b.height for b in between) + 0.6
        for a, b, lane in sorted(taken, key=lambda lane: lane[2]):
            if a <= high + 1 and b >= low - 1 and abs(lane - y) < WIRE:
                y = lane + WIRE
        lanes[source, target] = y
        taken.append((low, high, y))
    return lanes


def _draw_hops(found: PlacedLevel, nets: list[list[_Net]], tracks: list[float], rights: list[float]) -> None:
    boxes = found.boxes
    for w in found.wires:
        for source in dict.fromkeys(a for a, _ in w.hops):
            box = boxes[source[0]]
            k = box.layer + 1
            y = box.y + box.outputs[source[1]]
            net = next(n for n in nets[k] if n.wire is w and not n.turns and abs(n.y - y) < 1e-9)
            x = tracks[k] + WIRE * max(net.track, 0)
            start = box.x + box.width
            for a, b in w.hops:
                if a != source:
                    continue
                target = boxes[b[0]]
                end = target.y + target.inputs[b[1]]
                path = [(start, y)] if abs(end - y) < 1e-6 else [(start, y), (x, y), (x, end)]
                path.append((target.x, end))
                if target.through:
                    path.append((rights[target.layer], end))
                w.paths.append(path)
            if box.through:
                w.paths.append([(box.x, y), (rights[box.layer], y)])
            w.dots += _dots(x, y, net.ends)


def _dots(x: float, y: float, ends: Sequence[float]) -> list[tuple[float, float]]:
    """Where three or more pieces of a wire meet."""
    heights = sorted({round(e, 6) for e in (*ends, y)})
    found = []
    for h in heights:
        pieces = (abs(h - y) < 1e-5) + any(abs(h - e) < 1e-5 for e in ends)
        pieces += (h > heights[0]) + (h < heights[-1])
        if pieces > 2:
            found.append((x, h))
    return found


def _draw_back(
    found: PlacedLevel, lanes: Mapping[tuple[End, End], float], nets: list[list[_Net]], tracks: list[float]
) -> None:
    boxes = found.boxes
    for w in found.wires:
        for t in w.back:
            lane, a, b = lanes[w.source, t], boxes[w.source[0]], boxes[t[0]]
            y, end = a.y + a.outputs[w.source[1]], b.y + b.inputs[t[1]]
            out = next(
                n for n in nets[a.layer + 1] if n.wire is w and n.turns and not n.returns and n.ends == [lane]
            )
            back = next(
                n for n in nets[b.layer] if n.wire is w and n.returns and n.y == lane and n.ends == [end]
            )
            x1, x2 = tracks[a.layer + 1] + WIRE * out.track, tracks[b.layer] + WIRE * back.track
            w.paths.append([(a.x + a.width, y), (x1, y), (x1, lane), (x2, lane), (x2, end), (b.x, end)])
            if w.targets or len(w.back) > 1:
                w.dots.append((x1, y))
