"""The pictures of docs/view.md: there, small, and what the page looks like."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.helpers.view_pictures import MOST, PICTURES, draw, size


def test_the_documents_show_a_picture_of_every_part():
    shown = set(re.findall(r"!\[[^]]*\]\((view[a-z-]*\.png)\)", Path("docs/view.md").read_text()))
    assert shown == {"view.png", *(f"view-{name}.png" for name in PICTURES if name != "whole")}
    assert "docs/view.png" in "\n".join(Path("README.md").read_text().splitlines()[:30])


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_made_as_the_documents_have_it(name, tmp_path):
    made = draw(name, tmp_path)
    assert made.stat().st_size < MOST
    with Image.open(made) as new, Image.open(f"docs/{made.name}") as kept:
        assert new.size == kept.size == size(name)
        one, other = (np.asarray(p.convert("L").resize((50, 28)), dtype=float) for p in (new, kept))
    assert np.abs(one - other).mean() < 25.0  # of 255: fonts and renderers differ, parts are where they were
    assert one.std() > 3.0
