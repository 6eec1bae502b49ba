"""What all tests share."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Compiled code is neither taken from, nor left in, the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANTLOOP_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
