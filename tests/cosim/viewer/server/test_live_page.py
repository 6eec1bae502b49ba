"""The live page in a real browser: every button is clicked, and what is seen is what the engine computed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from blocks import Gain, Integrator, PlantloopError
from cosim import Diagram, Result, simulate
from cosim.scenario import load_scenario
from cosim.viewer.server.live_view import view_diagram, view_scenario
from plant import Plant
from tests.helpers.browser import shown, wait_until
from tests.helpers.fmus import build_fmu
from tests.helpers.names import HOSTILE


def decay(name="decay"):
    d = Diagram(name)
    d.add("i", Integrator(1.0))
    d.add("g", Gain(-2.0))
    d.connect("i.y -> g.u", "g.y -> i.u")
    d.connect(d.inport("u"), d.add("spare", Gain(1.0))["u"])
    return d


def rows_are(page, count):
    wait_until(page, "n => viewer.live.rows === n", count)


@pytest.mark.slow
def test_play_pause_step_back_reset_pace_window_and_save(tmp_path):
    for file in ("scenario.toml", "inverted_pendulum.xml"):
        shutil.copy(f"examples/inverted_pendulum/{file}", tmp_path)
    with view_scenario(load_scenario(tmp_path / "scenario.toml"), show=False) as live:
        with shown(live.address, offline=False) as page:
            assert page.locator("#title").inner_text() == "inverted_pendulum"
            assert page.locator("#about").inner_text() == "dopri5, native, live"
            assert page.locator("#diagram svg").count() == 1
            page.locator("[data-live=step]").click()
            rows_are(page, 2)
            page.keyboard.press("n")
            page.keyboard.press("n")
            rows_are(page, 4)
            page.locator("[data-live=back]").click()
            rows_are(page, 3)
            page.locator("[data-live=pace]").select_option("10")
            page.keyboard.press(" ")
            wait_until(page, "viewer.live.rows > 100")
            assert page.evaluate("viewer.live.state.pace") == 10
            page.locator("[data-live=play]").click()
            wait_until(page, "!viewer.live.state.playing")
            page.locator("[data-live=window]").select_option("1")
            # what is seen is what was computed
            with_rows = live.player.rows
            rows_are(page, with_rows)
            r = live.result()
            wait_until(page, "t => viewer.end === t", live._run.time)
            seen = page.evaluate("Array.from(viewer.signals.get('controller.u').values)")
            assert np.array_equal(
                seen, np.interp(live.player.table[:with_rows, 0], r.time, r["controller.u"][:, 0])
            )
            pose = page.evaluate("viewer.pointAt(0, viewer.live.rows - 1, 0, [0, 0, 0])")
            x = r["plant.slider"][-1, 0]
            assert pose[0] == pytest.approx(x, abs=1e-12)
            # looking back, and going on from there
            page.evaluate("viewer.setTime(0.3)")
            page.locator("[data-live=here]").click()
            wait_until(page, "viewer.live.rows < 40")
            assert live._run.time == pytest.approx(0.3, abs=0.011)
            units = page.evaluate(
                "Object.fromEntries([...document.querySelectorAll('#sliders .row')]"
                ".map(r => [r.children[0].textContent, r.children[3].textContent]))"
            )
            assert units["plant.disturbance_force"] == "N"
            assert "N/m" in page.locator("#motion .tools").inner_text()  # of a push
            page.locator("[data-live=save]").click()
            wait_until(page, "viewer.live.said.endsWith('scenario_1.toml')")
            page.locator("[data-live=reset]").click()
            rows_are(page, 1)
            wait_until(page, "viewer.end === 0")
        assert load_scenario(tmp_path / "scenario_1.toml").run().time[-1] == pytest.approx(0.3, abs=0.011)


@pytest.mark.slow
def test_sliders_numbers_and_search_change_the_run_and_other_pages_follow():
    with view_diagram(decay(), until=50.0, show=False) as live:
        with shown(live.address, offline=False) as page:
            page.keyboard.press("p")
            assert page.locator("#sliders").is_visible()
            other = page.context.new_page()
            other.goto(live.address)
            other.wait_for_selector("html[data-ready=yes]")
            number = page.locator('#sliders input[type=number][data-name="g.k"]')
            number.fill("-0.5")
            number.press("Enter")
            wait_until(
                other,
                """document.querySelector('#sliders [type=number][data-name="g.k"]').value === "-0.5" """,
            )
            live.do("play")
            wait_until(page, "viewer.end > 0.5")
            slider = page.locator('#sliders input[type=range][data-name="u"]')
            slider.evaluate("s => { s.value = 0.75; s.dispatchEvent(new Event('input')); }")
            wait_until(page, "viewer.signals.get('spare.y').values.at(-1) === 0.75")
            live.do("pause")
            page.locator("#sliders input[type=search]").fill("spare")
            assert page.locator("#sliders .row").count() == 1
            other.close()
        changes = [(c.name, c.value) for c in live._run.recording.changes]
        assert changes[0] == ("g.k", -0.5)
        assert changes[-1] == ("u", [0.75])
        r = live.result()
        assert r["i.y"][-1, 0] == pytest.approx(np.exp(-0.5 * r.time[-1]), rel=1e-6)


@pytest.mark.slow
def test_a_body_is_pushed_with_the_mouse_and_closing_the_tab_does_not_harm_the_run(tmp_path):
    for file in ("scenario.toml", "inverted_pendulum.xml"):
        shutil.copy(f"examples/inverted_pendulum/{file}", tmp_path)
    with view_scenario(load_scenario(tmp_path / "scenario.toml"), show=False) as live:
        with shown(live.address, offline=False) as page:
            page.locator("[data-do=strength]").fill("2")
            box = page.locator("#motion canvas").bounding_box()
            centre = page.evaluate("viewer.content.plants[0].bodies[1].centre")
            at = page.evaluate("c => viewer.projected(0, 0, 1, c)", centre)
            x, y = box["x"] + at[0], box["y"] + at[1]
            page.keyboard.down("Shift")
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + 40, y, steps=4)
            wait_until(page, "viewer.live.pushed")
            wait_until(page, "viewer.live.state.changes > 0")
            asked = page.evaluate("viewer.live.pushed")
            live.do("step")
            page.keyboard.up("Shift")
            page.mouse.up()
            page.wait_for_timeout(100)
            live.do("play")
            page.close()
            live.do("set", name="controller.K", value=live._run.values()["controller.K"])
        while live._run.time < 0.3:
            time.sleep(0.02)
        live.do("pause")
        assert asked["plant"] == "plant"
        assert abs(asked["force"][0]) > 10 * abs(asked["force"][2])  # across the view, along the slide
        names = [c.name for c in live._run.recording.changes]
        assert "plant_push_pendulum.value" in names
        assert not live._run.values()["plant_push_pendulum.value"].any()  # let go
        same = load_scenario(live.save()).run()
        r = live.result()
        assert same["plant.pendulum"].tobytes() == r["plant.pendulum"].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("forces", [False, True])
def test_bodies_trails_and_arrows_move_with_the_run(forces):
    plant = Plant.read("tests/data/models/four_bar.xml")
    inputs = {"crank_torque": 40.0}
    with plant.view(live=True, until=2.0, show=False, forces=forces, engine="native") as live:
        with shown(live.address, offline=False) as page:
            page.locator("[data-do=trails]").check()
            live.do("set", name="crank_torque", value=inputs["crank_torque"])
            for _ in range(40):
                live.do("step")
            rows_are(page, 41)
            wait_until(page, "t => viewer.time === t", live._run.time)
            for kind in ("velocity", "force", "reaction") if forces else ("velocity",):
                page.locator(f"[data-arrows={kind}]").check()
            page.wait_for_timeout(50)
            assert page.evaluate("viewer.space.plants[0].row") == 40
            arrows = page.evaluate("viewer.arrowState()")
            (trail, *_) = page.evaluate("viewer.trailState()")
            point = page.evaluate("viewer.content.plants[0].bodies[0].points.at(-1)")
            last = page.evaluate("s => viewer.pointAt(0, 40, 0, s)", point)
            # back, and on another way: trails do not keep what is left
            live.do("back", to=0.2)
            rows = live.player.rows
            rows_are(page, rows)
            page.wait_for_timeout(50)
            assert page.evaluate("viewer.trailState()[0].count") == rows
        t = 0.4
    assert trail["count"] == 41
    assert trail["shown"]
    assert np.allclose(trail["points"][-3:], last, atol=1e-5)
    wanted = simulate(plant.observed(), t, log_every=0.01, inputs=inputs, engine="native")
    outputs = {"velocity": ("body_", 3), "force": ("force_", 0), "reaction": ("joint_", 0)}
    assert {a["kind"] for a in arrows} == (set(outputs) if forces else {"velocity"})
    for a in arrows:
        prefix, first = outputs[a["kind"]]
        k = first + (3 if a["turning"] else 0)
        values = wanted[f"plant.{prefix}{a['name']}"]
        assert np.allclose(a["value"], values[-1, k : k + 3], atol=1e-5 * np.abs(values).max()), a["name"]


def test_forces_that_cannot_be_found_live_say_why():
    plant = Plant.read("tests/data/plants/bricard.xml")
    with pytest.raises(PlantloopError, match="they depend on 'repeats' between instants"):
        plant.view(live=True, show=False, forces=True)
    with pytest.raises(PlantloopError, match="forces is 1, expected True or False"):
        plant.view(live=True, show=False, forces=1)


@pytest.mark.slow
def test_hostile_names_are_texts(tmp_path):
    d = decay(HOSTILE)
    with view_diagram(d, until=1.0, show=False) as live, shown(live.address, offline=False) as page:
        page.evaluate("n => viewer.live.do('set', {name: n, value: 1})", HOSTILE)
        wait_until(page, "viewer.live.said.includes('onerror')")
        assert page.evaluate("window.broken") is None
        assert page.locator("#title").inner_text() == HOSTILE
        assert page.locator("img").count() == 0


@pytest.mark.slow
def test_ctrl_c_ends_the_command_with_its_result(tmp_path):
    out = tmp_path / "live.nc"
    command = [sys.executable, "-m", "cosim", "view", "examples/inverted_pendulum/scenario.toml"]
    options = ["--live", "--no-browser", "--out", str(out)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, env={**os.environ})
    try:
        address = process.stdout.readline().strip()
        with shown(address, offline=False) as page:
            page.locator("[data-live=step]").click()
            rows_are(page, 2)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
    assert Result.load(out).time[-1] == pytest.approx(0.01)


@pytest.mark.slow
def test_live_views_are_for_what_runs(tmp_path):
    command = [sys.executable, "-m", "cosim", "view", str(tmp_path / "r.nc"), "--live"]
    (tmp_path / "r.nc").write_bytes(b"")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "--live takes a .toml, .xml or .fmu file" in done.stderr
    assert json.dumps(done.stdout) == '""'


@pytest.mark.slow
def test_an_fmu_by_itself_needs_trust_and_is_steered(tmp_path):
    path = build_fmu("mass", folder=tmp_path, kinds=("me",))
    command = [sys.executable, "-m", "cosim", "view", str(path), "--live", "--no-browser"]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "is native code" in refused.stderr
    process = subprocess.Popen(
        [*command, "--trust", "--out", "r.nc"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    try:
        with shown(process.stdout.readline().strip(), offline=False) as page:
            names = page.evaluate(
                "[...document.querySelectorAll('#sliders [data-name]')].map(s => s.dataset.name)"
            )
            (force,) = {n for n in names if n.split(".")[-1] == "f"}
            page.evaluate("n => viewer.live.do('set', {name: n, value: 3})", force)
            for _ in range(20):
                page.evaluate("viewer.live.do('step')")
            wait_until(page, "viewer.live.rows === 21")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
    r = Result.load(tmp_path / "r.nc")
    # m x'' + c x' + k x = f from x = 0.1 at rest, with m = 1, c = 0.5, k = 100, f = 3
    decay, rest, t = 0.25, 0.03, r.time[-1]
    w = np.sqrt(100.0 - decay**2)
    x = rest + (0.1 - rest) * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    assert t == pytest.approx(1.0)
    assert r["plant.x"][-1, 0] == pytest.approx(x, abs=1e-4)
    assert r[force][-1, 0] == 3.0
