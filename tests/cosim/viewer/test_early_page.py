"""A page that is open before its data is there."""

import os
import subprocess
import sys
import webbrowser

import numpy as np
import pytest

from blocks import Integrator, Sine
from blocks.errors import PlantloopError
from cosim import Diagram, simulate
from cosim.viewer.early_page import EarlyPage, early_page
from cosim.viewer.stored_drawings import of_result
from plant import Plant
from tests.helpers.browser import shown, wait_until

PENDULUM = "tests/data/models/inverted_pendulum.xml"


@pytest.fixture
def asked(monkeypatch):
    """Addresses that a browser was asked to show."""
    found = []
    monkeypatch.setattr(webbrowser, "open", found.append)
    return found


@pytest.mark.slow
def test_it_shows_what_arrives_and_is_whole_then(asked):
    d = Diagram("late")
    arm = d.add("arm", Plant.read(PENDULUM))
    d.connect(d.add("wave", Sine(2.0, 3.0))["y"], arm["control_force"])
    d.connect(d["wave"]["y"], d.add("sum", Integrator(0.0))["u"])
    d.ground(arm["disturbance_force"])
    r = simulate(d, 1.0, engine="reference", log_every=0.1)
    early = EarlyPage("<b>late</b>.toml")
    with shown(early.file, ready=False) as page:
        wait_until(page, "document.getElementById('title').textContent === '<b>late</b>.toml'")
        assert not page.evaluate("document.documentElement.dataset.ready ?? ''")
        assert early.arrive(of_result(r)) == early.file
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        assert np.array_equal(
            page.evaluate("Array.from(viewer.signals.get('sum.y').values)"), r["sum.y"][:, 0]
        )
        assert page.evaluate("document.title") == "late"
        assert page.evaluate("document.querySelector('#motion canvas').width") > 100
    assert asked == [early.file.as_uri()]
    with shown(early.file) as page:  # loaded again, without what was beside it
        assert page.evaluate("viewer.signals.get('sum.y').values.length") == 11


@pytest.mark.slow
def test_it_says_why_there_is_nothing_to_see(asked):
    early = EarlyPage("broken.toml")
    with pytest.raises(PlantloopError), early.failing():
        raise PlantloopError("no block </script><img src=x onerror=alert(1)> 'k'.")
    with shown(early.file, ready=False) as page:
        page.wait_for_selector("html[data-ready=failed]", state="attached")
        assert "</script><img src=x onerror=alert(1)> 'k'." in page.locator("pre").last.inner_text()
        assert not page.locator("img").count()


def test_nothing_opens_for_what_is_no_file(tmp_path, asked):
    assert early_page(tmp_path / "absent.toml") is None
    (tmp_path / "notes.txt").write_text("")
    assert early_page(tmp_path / "notes.txt") is None
    assert not asked


@pytest.mark.slow
def test_the_command_opens_it_and_says_where_it_is(tmp_path):
    opener, address = tmp_path / "opener", tmp_path / "address"
    opener.write_text(f'#!/bin/sh\necho "$1" >> {address}\n')
    opener.chmod(0o755)
    run = lambda *arguments: subprocess.run(
        [sys.executable, "-m", "cosim", "view", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"BROWSER": f"{opener} %s"},
    )
    done = run(PENDULUM)
    assert done.returncode == 0, done.stderr
    assert address.read_text().split() == [f"file://{done.stdout.strip()}"]
    with open(done.stdout.strip(), encoding="utf-8") as file:
        assert 'id="content"' in file.read()
    assert run(PENDULUM, "--no-browser").returncode == 0
    assert run("absent.toml").returncode == 1
    assert len(address.read_text().split()) == 1
