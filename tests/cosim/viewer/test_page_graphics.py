"""Shapes that a deck draws: where they stand, how large they are, their colours."""

import io

import numpy as np
import pytest
from PIL import Image

from blocks.errors import PlantloopError
from cosim import Diagram, simulate
from plant import Plant
from plant.scene import scene_of
from tests.helpers.browser import shown

DECK = """<Deck><Model>
<Force_Gravity grav_y="-9.81"/>
<Body_Rigid id="1" isground="TRUE"/>
<Reference_Marker id="10" body_id="1"/>
<Reference_Marker id="11" body_id="1" pos_x="0.2" pos_y="-1.2" pos_z="0.1"/>
<Body_Rigid id="2" label="arm" cg_id="20" mass="2" inertia_xx="1" inertia_yy="1.1" inertia_zz="1.2"/>
<Reference_Marker id="20" body_id="2" pos_x="0.5"/>
<Reference_Marker id="21" body_id="2"/>
<Reference_Marker id="22" body_id="2" pos_x="0.1"
 a00="0" a10="1" a20="0" a01="0" a11="0" a21="1" a02="1" a12="0" a22="0"/>
<Reference_Marker id="23" body_id="2" pos_x="1.0"/>
<Constraint_Joint id="1" label="hinge" type="REVOLUTE" i_marker_id="21" j_marker_id="10"/>
<Post_Graphic id="1" type="Cylinder" center_marker_id="22" radius="0.05" length="0.8" color="220:40:40"/>
<Post_Graphic id="2" type="Sphere" center_marker_id="23" radius="0.15" color="0:158:115"/>
<Post_Graphic id="3" type="BoxDefinedFromCorner" corner_marker_id="11" length_x="1"
 length_y="-0.1" length_z="0.5"/>
<Post_Graphic id="4" type="BoxDefinedFromCenter" center_marker_id="11" length_x="0.3"
 length_y="0.4" length_z="0.2"/>
<Post_Graphic id="5" type="Frustum" center_marker_id="10" top_radius="0.02" bottom_radius="0.2"
 length="-0.4"/>
<Post_Graphic id="7" type="Sphere" center_marker_id="10" radius="9" hidden="TRUE"/>
</Model></Deck>"""

ARM, GROUND = 0, -1
# link, lowest and highest corner of a box around the shape along the axes of that link, written by hand
BOXES = [
    (ARM, (0.1, -0.05, -0.05), (0.9, 0.05, 0.05)),
    (ARM, (0.85, -0.15, -0.15), (1.15, 0.15, 0.15)),
    (GROUND, (0.2, -1.3, 0.1), (1.2, -1.2, 0.6)),
    (GROUND, (0.05, -1.4, 0.0), (0.35, -1.0, 0.2)),
    (GROUND, (-0.2, -0.2, -0.4), (0.2, 0.2, 0.0)),
]


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_shapes_of_a_deck_stand_at_their_markers(coordinates, tmp_path):
    file = tmp_path / "deck.xml"
    file.write_text(DECK)
    d = Diagram("drawn")
    d.add("plant", Plant.read(file, coordinates=coordinates))
    r = simulate(d, 0.3, log_every=0.1, solver="rk4", step=0.01)
    r.view(out=tmp_path / "page.html")
    # the hinge's angle by hand: half a period of a physical pendulum is far longer than 0.3 s
    inertia, moment = 1.2 + 2 * 0.25, 2 * 9.81 * 0.5
    angle, rate = 0.0, 0.0
    for _ in range(3000):  # semi-implicit Euler at 0.1 ms
        rate -= 1e-4 * moment * np.cos(angle) / inertia
        angle += 1e-4 * rate
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    with shown(tmp_path / "page.html") as page:
        page.evaluate("viewer.setTime(0.3)")
        solids = page.evaluate("viewer.content.plants[0].solids")
        assert [s["link"] for s in solids] == [link for link, _, _ in BOXES]
        for k, (link, low, high) in enumerate(BOXES):
            corners = np.array(
                page.evaluate(
                    f"viewer.solidCorners(viewer.content.plants[0].solids[{k}]).map((v) => "
                    f"viewer.pointAt(0, 3, {link}, v.toArray()))"
                )
            )
            along = corners if link == GROUND else corners @ turn  # along the axes of the link
            slack = 1e-12 if link == GROUND else 2e-3  # Euler's
            assert along.min(axis=0) == pytest.approx(low, abs=slack), k
            assert along.max(axis=0) == pytest.approx(high, abs=slack), k
        picture = Image.open(io.BytesIO(page.locator("#motion canvas").screenshot())).convert("RGB")
        points = [(turn @ (x, 0.0, 0.2)).tolist() for x in (0.6, 1.0, 1.3)]
        seen = [page.evaluate("s => viewer.projected(0, 3, -1, s)", s) for s in points]
        red, green, paper = (picture.getpixel((int(x), int(y))) for x, y in seen)
    assert red[0] > 1.5 * max(red[1:])
    assert green[1] > 1.2 * max(green[0], green[2])
    assert min(paper) > 200


BARS = """() => viewer.space.moved.filter((m) => m.object.userData.body === 0)
  .flatMap((m) => m.object.children).filter((o) => o.isMesh && o.geometry.type === "CylinderGeometry")
  .map((o) => [o.geometry.parameters.height, ...o.position.toArray()])"""


@pytest.mark.slow
def test_bars_join_the_markers_that_shapes_do_not_reach(tmp_path):
    """The arm's shapes end 0.1 before its hinge; behind a large sphere no bar is needed."""
    found = []
    for text in (DECK, DECK.replace('radius="0.15"', 'radius="1.1"')):
        Plant.read(text.encode()).view(out=tmp_path / "page.html")
        with shown(tmp_path / "page.html") as page:
            found.append(page.evaluate(BARS))
    (bar,), none = found
    assert bar[0] == pytest.approx(0.5, abs=1e-9) and bar[1] == pytest.approx(0.25, abs=1e-9)
    assert none == []


RINGS = """k => {
  const solid = viewer.content.plants[0].solids[k];
  const [drawn] = viewer.solidsOf([solid], solid.link, new THREE.MeshBasicMaterial());
  return drawn.children.map((mesh) => {
    const at = mesh.geometry.attributes.position;
    return Array.from({ length: at.count }, (_, i) => [at.getZ(i), Math.hypot(at.getX(i), at.getY(i))]);
  });
}"""


@pytest.mark.slow
def test_cylinders_begin_with_their_bottom_and_open_ends_stay_open(tmp_path):
    plant = Plant.read(DECK.replace('color="220:40:40"', 'ends_type="TOP_ONLY"').encode())
    plant.view(out=tmp_path / "page.html")
    with shown(tmp_path / "page.html") as page:
        (frustum,), (wall, disc) = page.evaluate(RINGS, 4), page.evaluate(RINGS, 0)
    ends = [max(r for z, r in frustum if abs(z - at) < 1e-6) for at in (0.0, -0.4)]
    assert ends == pytest.approx([0.2, 0.02], abs=1e-6)
    assert {round(z, 6) for z, _ in wall} == {0.0, 0.8}
    assert min(r for _, r in wall) == pytest.approx(0.05, abs=1e-6)  # open: no centres of discs
    assert {round(z, 6) for z, _ in disc} == {0.8}


@pytest.mark.parametrize(
    ("graphic", "says"),
    [
        ('type="TriaMesh"', "is not drawn: type is 'TriaMesh'"),
        ('type="Cylinder" center_marker_id="10" radius="1"', "length is not given"),
        ('type="Sphere" center_marker_id="10" radius="1" length_x="2"', "length_x changes nothing"),
        ('type="Sphere" center_marker_id="10" radius="1" ends_type="OPEN"', "ends_type changes nothing"),
    ],
)
def test_what_is_not_drawn_is_told(graphic, says):
    text = DECK.partition("<Post_Graphic")[0] + f'<Post_Graphic id="1" {graphic}/></Model></Deck>'
    with pytest.warns(UserWarning, match=says):
        Plant.read(text.encode())


@pytest.mark.parametrize(
    ("graphic", "says"),
    [
        ('color="300:0:0"', "color='300:0:0' is no colour; write three numbers from 0 to 255"),
        ('color="red"', "color='red' is no colour"),
        ('ends_type="HALF"', "ends_type='HALF' is not a known value"),
        ('radius="-1"', "radius='-1'"),
        ('center_marker_id="99"', "center_marker_id=99"),
    ],
)
def test_mistakes_in_shapes(graphic, says):
    text = (
        DECK.partition("<Post_Graphic")[0] + f'<Post_Graphic id="1" type="Sphere" {graphic}/></Model></Deck>'
    )
    with pytest.raises(PlantloopError, match=says):
        Plant.read(text.encode())


def test_ends_and_faces_of_shapes():
    head = DECK.partition("<Post_Graphic")[0]
    size = 'type="Cylinder" center_marker_id="22" radius="0.1" length="1"'
    for name, ends in {
        "OPEN": (False, False),
        "top_only": (False, True),
        "BOTTOM_ONLY": (True, False),
    }.items():
        text = (
            f'{head}<Post_Graphic id="1" {size} ends_type="{name}" is_material_inside="NO"/></Model></Deck>'
        )
        (solid,) = scene_of(Plant.read(text.encode())).solids
        assert solid.ends == ends
        assert not solid.inside
        assert solid.sizes == (0.1, 0.1, 1.0)
