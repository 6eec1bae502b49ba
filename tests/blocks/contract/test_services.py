"""Blocks and plants know nothing of what shows and linearises them: it registers itself, or is installed."""

import importlib
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import cosim
from blocks import LQR, Integrator, PlantloopError
from blocks.contract import services

ROOT = Path(__file__).parents[3]


class Asked:
    """Answers what it was asked."""

    def show_model(self, *given):
        return given

    def design_point(self, *given):
        raise PlantloopError(f"asked for {given[1]}")


@pytest.fixture
def nobody(monkeypatch):
    monkeypatch.setattr(services, "_REGISTERED", [])
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])


def test_what_was_registered_last_is_asked(nobody):
    services.register(None)
    services.register(Asked())
    d = cosim.Diagram("d")
    shown = d.view(out="file.html", show=False, live=True, until=2.0)
    assert shown == (d, "file.html", False, True, {"until": 2.0})
    with pytest.raises(PlantloopError, match="asked for 7"):
        LQR.of(Integrator(0.0), inputs=7)


def test_packages_that_are_installed_register_themselves(nobody, monkeypatch):
    class Found:
        def load(self):
            services.register(Asked())

    monkeypatch.setattr(metadata, "entry_points", lambda group: [Found()] if group == services.GROUP else [])
    d = cosim.Diagram("d")
    assert d.view() == (d, None, True, False, {})


def test_where_nobody_serves_models_the_cure_is_named(nobody):
    with pytest.raises(PlantloopError, match=r"nothing that shows, runs and linearises.* `import cosim`"):
        cosim.Diagram("d").view()


def test_the_entry_point_names_what_registers():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert [importlib.import_module(name) for name in points[services.GROUP].values()] == [cosim]
    assert services._REGISTERED
