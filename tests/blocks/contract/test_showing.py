"""Models know nothing of pages: who shows them is registered, or found among what is installed."""

import importlib
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import cosim
from blocks import PlantloopError
from blocks.contract import showing

ROOT = Path(__file__).parents[3]


def test_what_was_registered_last_shows_models(monkeypatch):
    asked = []
    monkeypatch.setattr(showing, "_REGISTERED", [])
    showing.register(lambda *given: pytest.fail("not the last"))
    showing.register(lambda *given: asked.append(given) or "page")
    d = cosim.Diagram("d")
    assert d.view(out="file.html", show=False, live=True, until=2.0) == "page"
    assert asked == [(d, "file.html", False, True, {"until": 2.0})]


def test_packages_that_are_installed_register_themselves(monkeypatch):
    class Found:
        def load(self):
            showing.register(lambda *given: "page of another")

    monkeypatch.setattr(showing, "_REGISTERED", [])
    monkeypatch.setattr(metadata, "entry_points", lambda group: [Found()] if group == showing.GROUP else [])
    assert cosim.Diagram("d").view() == "page of another"


def test_where_nobody_shows_models_the_cure_is_named(monkeypatch):
    monkeypatch.setattr(showing, "_REGISTERED", [])
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])
    with pytest.raises(PlantloopError, match=r"nothing that shows models is imported.* `import cosim`"):
        cosim.Diagram("d").view()


def test_the_entry_point_names_what_registers(monkeypatch):
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][showing.GROUP]
    assert [importlib.import_module(name) for name in table.values()] == [cosim]
    assert showing._REGISTERED
