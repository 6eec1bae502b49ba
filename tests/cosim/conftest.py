"""What several tests of cosim share."""

import pytest

from tests.helpers.hybrid import DIAGRAMS


class Made(dict):
    """Diagrams by name, made when they are asked for."""

    def __missing__(self, name):
        self[name] = DIAGRAMS[name]()
        return self[name]


@pytest.fixture(scope="session")
def diagrams():
    """Each diagram once, so that its code is compiled once."""
    return Made()
