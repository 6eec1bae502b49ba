"""Charts as small pictures: states lie in their states and beside each other, arrows join borders."""

import itertools

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from blocks import State, StateChart, Transition

INNER = [State("dim"), State("bright", states=[State("low"), State("high")]), State("full")]


def chart(**more):
    states = [State("off"), State("on", states=INNER), State("broken")]
    ways = [("off", "on"), ("on", "off"), ("dim", "bright"), ("low", "high"), ("on", "broken")]
    return StateChart(
        states=states, transitions=[Transition(*way, on="press") for way in ways], events=["press"], **more
    )


def inside(a, b, room=0.0):
    """Does the box a lie in the box b?"""
    return (
        a[0] >= b[0] + room
        and a[1] >= b[1] + room
        and a[0] + a[2] <= b[0] + b[2] - room
        and a[1] + a[3] <= b[1] + b[3] - room
    )


def apart(a, b):
    return a[0] + a[2] < b[0] or b[0] + b[2] < a[0] or a[1] + a[3] < b[1] or b[1] + b[3] < a[1]


def test_states_lie_in_states_and_beside_each_other():
    found = chart().picture()
    boxes = {text: box for *box, text in found.boxes}
    assert list(boxes) == ["off", "on", "dim", "bright", "low", "high", "full", "broken"]
    parents = {"dim": "on", "bright": "on", "full": "on", "low": "bright", "high": "bright"}
    for (a, box), (b, other) in itertools.combinations(boxes.items(), 2):
        if a in (parents.get(b), parents.get(parents.get(b))):
            assert inside(other, box, 0.1), (a, b)
        else:
            assert apart(box, other), (a, b)
    assert all(inside(box, (0, 0, found.width, found.height)) for box in boxes.values())


def test_an_arrow_goes_from_border_to_border_and_the_way_back_beside_it():
    found = chart().picture()
    boxes = {text: box for *box, text in found.boxes}
    assert len(found.arrows) == 5
    for (a, b), (begin, end) in zip(
        [("off", "on"), ("on", "off"), ("dim", "bright")], found.arrows, strict=False
    ):
        for name, point in ((a, begin), (b, end)):
            x, y, w, h = boxes[name]
            assert x - 0.1 <= point[0] <= x + w + 0.1
            assert y - 0.1 <= point[1] <= y + h + 0.1
        assert not inside((*begin, 0, 0), boxes[a], 0.1)
        assert not inside((*end, 0, 0), boxes[b], 0.1)
    there, back = found.arrows[:2]
    assert there[0] != back[1]


@pytest.mark.parametrize(("many", "drawn"), [(20, True), (21, False)])
def test_a_chart_of_many_states_is_not_drawn_small(many, drawn):
    states = [State(f"s{k}") for k in range(many)]
    found = StateChart(states=states, transitions=[Transition("s0", "s1", "after(1)")]).picture()
    assert (found is not None) is drawn


@pytest.mark.parametrize("count", [2, 3, 5])
def test_guards_stand_on_their_arrows(count):
    """They stood as far from them as the states from one another; the curve is a Bezier of second degree."""
    names = [f"s{k}" for k in range(count)]
    ways = [Transition(a, b, f"u > {k}") for k, (a, b) in enumerate(itertools.permutations(names, 2))]
    chart = StateChart(inputs=["u"], states=[State(n) for n in names], transitions=ways)
    figure = chart.draw()
    figure.canvas.draw()
    axes = figure.axes[0]
    arrows = [p for p in axes.patches if isinstance(p, FancyArrowPatch)]
    curves = [axes.transData.transform(arrow.get_path().vertices[:3]) for arrow in arrows]
    texts = [t for t in axes.texts if t.get_text().startswith("[")]
    assert len(texts) == len(ways) == len(curves)
    for text in texts:
        at = axes.transData.transform(text.xy)
        s = np.linspace(0.0, 1.0, 201)[:, None]
        offsets = [(1 - s) ** 2 * a + 2 * s * (1 - s) * b + s**2 * c - at for a, b, c in curves]
        nearest = min(np.hypot(*offset.T).min() for offset in offsets)
        assert nearest < 8.0  # points of the page, of a picture of 500


LONG = "count = count + 1; level = 0.3 * level + 0.7 * count; power = 1000 * level; hot = 20 * power"


def drawn_boxes(figure):
    """Of states by name, and of all texts, each as (x, y, width, height) in points of the page."""
    figure.canvas.draw()
    axes = figure.axes[0]
    frames = [p for p in axes.patches if isinstance(p, FancyBboxPatch)]
    names = [t for t in axes.texts if t.get_text() in NESTED]
    texts = [t for t in axes.texts if t.get_text()]
    boxes = [(t.get_text(), t.get_window_extent().bounds) for t in texts]
    assert len(frames) == len(names) == len(NESTED)
    ends = [axes.transData.transform(f.get_path().get_extents().get_points()) for f in frames]
    places = {name: (*low, *(high - low)) for name, (low, high) in zip(NESTED, ends, strict=True)}
    return places, boxes


NESTED = ["off", "on", "on.dim", "on.full", "on.full.fan", "on.full.fan.slow", "on.full.light", "broken"]


@pytest.mark.parametrize("turn", [1, -1])
def test_frames_hold_their_states_and_no_text_covers_another(turn):
    """They stood beside each other on one circle, and long actions ran over them."""
    fan = State("fan", states=[State("slow", entry=LONG)])
    inner = [State("dim"), State("full", parallel=True, states=[fan, State("light")])]
    states = [State("off", exit=LONG), State("on", states=inner, history="deep"), State("broken")]
    ways = [
        ("off", "on"),
        ("on", "off"),
        ("dim", "full"),
        ("slow", "on"),
        ("broken", "broken"),
        ("on", "dim"),
    ]
    data = dict.fromkeys(("count", "level", "power", "hot"), 0.0)
    chart = StateChart(
        inputs=["u"],
        data=data,
        states=states,
        transitions=[Transition(a, b, f"u > {k}", action=LONG) for k, (a, b) in enumerate(ways)][::turn],
    )
    figure = chart.draw()
    places, texts = drawn_boxes(figure)
    for a, b in itertools.permutations(NESTED, 2):
        if a.startswith(b + "."):
            assert inside(places[a], places[b], 5.0), (a, b)
        elif not b.startswith(a + "."):
            assert apart(places[a], places[b]), (a, b)
    for (a, box), (b, other) in itertools.combinations(texts, 2):
        assert apart(box, other), (a, b)
    for text, box in texts:
        assert box[2] < 250.0, text  # wrapped
        assert inside(box, (0, 0, *figure.bbox.size)), text
        if text in NESTED:
            assert inside(box, places[text]), text
    dashed = [n for n, p in zip(NESTED, figure.axes[0].patches, strict=False) if p.get_linestyle() == "--"]
    assert dashed == ["on.full.fan", "on.full.light"]  # active together
    shown = [" ".join(text.split()) for text, _ in texts]
    assert sum(LONG in text for text in shown) == len(ways) + 2
    assert max(figure.get_size_inches()) < 25.0
