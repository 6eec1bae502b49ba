"""Plants in the page: poses of ten plants to a pixel, arrows of what moves and acts, energy, the camera."""

import io

import numpy as np
import pytest
from PIL import Image

from blocks.errors import PlantloopError
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import Body_Rigid, Constraint_Joint, Force_Gravity, Model, Reference_Marker
from plant.gamma_q.robot_plant import RobotPlant
from plant.gamma_q.robots import planar
from tests.helpers.browser import shown
from tests.helpers.loops import n_four_bar

MODELS = "tests/data/models"
PLANTS = "tests/data/plants"


def spinning_top():
    return Plant.from_model(
        Model.build(
            [
                Body_Rigid(id=1, isground=True),
                Reference_Marker(id=10, body_id=1),
                Body_Rigid(
                    id=2, label="top", cg_id=20, mass=0.5, inertia_xx=1e-3, inertia_yy=1e-3, inertia_zz=2e-3,
                    w_ic_z=60.0,
                ),
                Reference_Marker(id=20, body_id=2, pos_x=0.03, pos_z=0.1),
                Reference_Marker(id=21, body_id=2),
                Constraint_Joint(id=1, type="SPHERICAL", i_marker_id=21, j_marker_id=10),
                Force_Gravity(id=1, grav_z=-9.81),
            ],
            name="top",
        )
    )  # fmt: skip


def read(file, **options):
    return lambda: Plant.read(f"{file}.xml", **options)


TEN = {
    "pendulum": read(f"{PLANTS}/simple_pendulum"),
    "inverted pendulum": read(f"{MODELS}/inverted_pendulum", coordinates="absolute"),
    "four-bar": read(f"{MODELS}/four_bar"),
    "leaning four-bar": read(f"{PLANTS}/leaning_four_bar", coordinates="absolute"),
    "Bricard": read(f"{PLANTS}/bricard"),
    "robot": read(f"{MODELS}/robot_2d"),
    "Andrews": read(f"{PLANTS}/andrews"),
    "top": spinning_top,
    "wheel satellite": read("examples/energy_audit"),
    "tree of spatial_v2": lambda: RobotPlant(planar(4), q=[0.3, -0.4, 0.5, 0.1], qd=[1.0, 0.5, -2.0, 0.7]),
    "40 four-bars": lambda: Plant.from_model(n_four_bar(40)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_points_of_bodies_are_drawn_where_the_plant_has_them(name, tmp_path):
    plant = TEN[name]()
    file, row = tmp_path / "motion.html", 0
    if name == "40 four-bars":
        plant.view(out=file)
        q = [np.asarray(part) for part in plant.start]
    else:
        d = Diagram("motion")
        node = d.add("arm", plant)
        for port in ["tau"] if isinstance(plant, RobotPlant) else plant.inputs:
            d.ground(node[port])
        r = simulate(d, 0.2, log_every=0.05)
        r.view(out=file)
        row = 3
        if isinstance(plant, RobotPlant):
            q = [np.array([x]) for x in r["arm.q"][row]]
        else:
            sizes = [(link.name, link.joint.nq) for link in plant.mechanism.links]
            q = [np.ravel(r[f"arm.{n}.q"][row]) if size else np.zeros(0) for n, size in sizes]
    frames = tree_frames(plant, q)
    with shown(file) as page:
        page.evaluate("viewer.setTime(0.16)" if row else "0")
        bodies = page.evaluate("viewer.content.plants[0].bodies")
        wanted, asked = [], []
        for body in bodies[:: max(1, len(bodies) // 15)]:
            r0, A = frames[body["link"]]
            for s in [*body["points"], *([body["centre"]] if body["centre"] else [])]:
                asked.append([row, body["link"], s])
                wanted.append(r0 + A @ np.array(s))
        found = page.evaluate(
            "l => l.map(a => [...viewer.pointAt(0, ...a), ...viewer.projected(0, ...a)])", asked
        )
        camera = page.evaluate("viewer.camera()")
    found, wanted = np.array(found), np.array(wanted)
    assert np.abs(found[:, :3] - wanted).max() < 1e-9 * max(1.0, np.abs(wanted).max())
    seen = np.c_[wanted, np.ones(len(wanted))] @ np.array(camera["matrix"]).reshape(4, 4)
    pixels = (seen[:, :2] / seen[:, 3:] * [1, -1] + 1) / 2 * [camera["width"], camera["height"]]
    assert np.abs(found[:, 3:] - pixels).max() < 1.0
    inside = (pixels > -20).all(axis=1) & (pixels < [camera["width"] + 20, camera["height"] + 20]).all(axis=1)
    assert inside.all()


@pytest.mark.slow
def test_many_bodies_are_drawn_and_caught_where_they_are(tmp_path):
    plant = Plant.from_model(n_four_bar(40))
    plant.view(out=tmp_path / "many.html")
    with shown(tmp_path / "many.html") as page:
        bodies = page.evaluate("viewer.content.plants[0].bodies")
        assert len(bodies) > 60
        picture = Image.open(io.BytesIO(page.locator("#motion canvas").screenshot())).convert("RGB")
        colours = page.evaluate("viewer.colours")
        camera = page.evaluate("viewer.camera()")
        for k in (3, 30, 70):
            ends = np.array(bodies[k]["points"][:2])
            middle = [*ends.mean(axis=0)]
            x, y = page.evaluate("a => viewer.projected(0, 0, ...a)", [bodies[k]["link"], middle])
            near = picture.crop((int(x) - 2, int(y) - 2, int(x) + 4, int(y) + 4)).getdata()
            wanted = [int(colours[k % len(colours)][i : i + 2], 16) for i in (1, 3, 5)]
            assert min(np.abs(np.array(c) - wanted).max() for c in near) < 60, (k, list(near))
            at = [2 * x / camera["width"] - 1, 1 - 2 * y / camera["height"]]
            found = page.evaluate(
                "a => { const f = viewer.space.caught(...a); return f && [f.link, f.local.toArray()]; }", at
            )
            assert found is not None
            assert page.evaluate("viewer.space.caught(-0.99, -0.99)") is None


def tree_frames(plant, q):
    """Origins and axes of all links, link by link with numbers."""
    found = []
    links = plant.model.links if isinstance(plant, RobotPlant) else plant.mechanism.links
    for link, own in zip(links, q, strict=True):
        XJ, _ = link.joint.jcalc(own)
        E, r = np.array(XJ.E, dtype=float), np.ravel(np.array(XJ.r, dtype=float))
        Et, rt = np.array(link.Xtree.E, dtype=float), np.ravel(np.array(link.Xtree.r, dtype=float))
        r0, A0 = found[link.parent] if link.parent >= 0 else (np.zeros(3), np.eye(3))
        found.append((r0 + A0 @ (rt + Et.T @ r), A0 @ Et.T @ E.T))
    return found


def turned_on(page, *kinds):
    for kind in kinds:
        page.evaluate("k => { document.querySelector(`[data-arrows=${k}]`).click(); }", kind)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_forces_found_afterwards_are_those_of_an_observed_run(coordinates, tmp_path):
    plant = Plant.read(f"{MODELS}/four_bar.xml", coordinates=coordinates)
    inputs = {"crank_torque": 40.0}
    plain = simulate(plant, 0.5, log_every=0.05, inputs=inputs)
    watched = simulate(plant.observed(), 0.5, log_every=0.05, inputs=inputs)
    plain.view(out=tmp_path / "plain.html", forces=True)
    with shown(tmp_path / "plain.html") as page:
        turned_on(page, "velocity", "force", "reaction")
        page.evaluate("viewer.setTime(0.36)")
        arrows = page.evaluate("viewer.arrowState()")
        said = page.locator("#motion .values").inner_text()
    outputs = {"velocity": ("body_", 3), "force": ("force_", 0), "reaction": ("joint_", 0)}
    assert {a["kind"] for a in arrows} == set(outputs)
    for a in arrows:
        prefix, first = outputs[a["kind"]]
        k = first + (3 if a["turning"] else 0)
        wanted = watched[f"plant.{prefix}{a['name']}"][7, k : k + 3]
        scale = np.abs(watched[f"plant.{prefix}{a['name']}"]).max()
        assert np.allclose(a["value"], wanted, atol=1e-5 * scale), a["name"]
        along = np.array(a["along"]) / np.linalg.norm(a["along"])
        assert along @ wanted == pytest.approx(np.linalg.norm(wanted), rel=1e-4, abs=1e-6 * scale)
    assert " N" in said
    assert " m/s" in said


@pytest.mark.slow
def test_velocities_are_there_without_asking_and_from_a_file(tmp_path):
    plant = Plant.read(f"{PLANTS}/simple_pendulum.xml")
    r = simulate(plant, 1.0, log_every=0.05)
    r.save(tmp_path / "run.nc")
    from cosim import Result

    Result.load(tmp_path / "run.nc").view(out=tmp_path / "run.html")
    with shown(tmp_path / "run.html") as page:
        turned_on(page, "velocity")
        page.evaluate("viewer.setTime(0.5)")
        (arrow,) = page.evaluate("viewer.arrowState()")
        # along the circle: velocity = rate x arm
        centre = page.evaluate("viewer.poseAt(0, 0.5, 0, viewer.content.plants[0].bodies[0].centre)")
        assert np.allclose(arrow["from"], centre, atol=1e-5)
        (name,) = [n for n in r.keys() if n.endswith(".qd")]  # noqa: SIM118
        (rate,) = r[name][10]
        arm = np.linalg.norm(arrow["from"])
        assert np.linalg.norm(arrow["value"]) == pytest.approx(abs(rate) * arm, rel=1e-5)
    with pytest.raises(PlantloopError, match="comes from a file"):
        Result.load(tmp_path / "run.nc").view(show=False, forces=True)
    with pytest.raises(PlantloopError, match="forces is 1, expected True or False"):
        r.view(show=False, forces=1)


@pytest.mark.slow
def test_forces_that_cannot_be_found_say_why(tmp_path):
    r = simulate(Plant.read(f"{PLANTS}/bricard.xml"), 0.05)
    with pytest.raises(PlantloopError, match="they depend on 'repeats' between instants"):
        r.view(show=False, forces=True)
    r = simulate(Plant.read(f"{MODELS}/four_bar.xml"), 0.05, signals=["plant.*.q"])
    with pytest.raises(PlantloopError, match=r"joint_1\.qd' was not logged"):
        r.view(show=False, forces=True)


@pytest.mark.slow
def test_energy_bars_and_the_camera_that_follows(tmp_path):
    r = simulate(Plant.read(f"{MODELS}/four_bar.xml").audited(), 1.0, log_every=0.1)
    r.view(out=tmp_path / "energy.html")
    with shown(tmp_path / "energy.html") as page:
        page.evaluate("viewer.setTime(0.5)")
        bars = page.evaluate("viewer.energyState()")
        shown_energy = {bar.split()[0]: bar.split()[1:] for bar in bars}
        assert shown_energy["KE"][1] == "J"
        for k, name in enumerate(("KE", "gravity", "springs")):
            assert float(shown_energy[name][0]) == pytest.approx(r["plant.audit_energy"][5, k], rel=1e-4)
        asked = "viewer.projected(0, 10, 1, viewer.content.plants[0].bodies[1].centre)"
        page.evaluate("viewer.setTime(1.0)")
        before = page.evaluate(asked)
        page.locator("#motion .list .body").nth(1).click()
        middle = page.evaluate("(() => { const c = viewer.camera(); return [c.width / 2, c.height / 2]; })()")
        assert np.allclose(page.evaluate(asked), middle, atol=1.0)
        page.evaluate("viewer.setTime(0.0)")
        asked0 = asked.replace("0, 10, 1", "0, 0, 1")
        assert np.allclose(page.evaluate(asked0), middle, atol=1.0)
        page.locator("#motion [data-do=reset]").click()
        page.evaluate("viewer.setTime(1.0)")
        assert np.allclose(page.evaluate(asked), before, atol=1.0)
