"""The page of elements says what the code says."""

from __future__ import annotations

from pathlib import Path

from plant.elements import ELEMENTS
from plant.formats.motionsolve.catalogue import STATUS, page

PAGE = Path(__file__).parents[3] / "docs" / "elements.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run: python -m plant.formats.motionsolve.catalogue > docs/elements.md"


def test_every_status_belongs_to_an_element():
    assert STATUS.keys() <= ELEMENTS.keys()
