"""What several tests of cosim share."""

import pytest

from tests.helpers.hybrid import DIAGRAMS


@pytest.fixture(scope="session")
def diagrams():
    """Each diagram once, so that its code is compiled once."""
    return {name: make() for name, make in DIAGRAMS.items()}
