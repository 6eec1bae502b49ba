"""The page of elements says what the code says."""

from __future__ import annotations

from pathlib import Path

from plant.catalogue import STATUS, page
from plant.elements import ELEMENTS

PAGE = Path(__file__).parents[2] / "docs" / "elements.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run: python -m plant.catalogue > docs/elements.md"


def test_every_status_belongs_to_an_element():
    assert STATUS.keys() <= ELEMENTS.keys()
