"""Charts as small pictures: states lie in their states and beside each other, arrows join borders."""

import itertools

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch

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
