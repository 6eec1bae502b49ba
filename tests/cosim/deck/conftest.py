"""What tests of decks run with."""

import pytest


@pytest.fixture(params=["joint", "absolute"])
def coordinates(request):
    return request.param


@pytest.fixture(params=["reference", "native"])
def engine(request):
    return request.param


@pytest.fixture(params=[("joint", "native"), ("absolute", "reference")], ids="-".join)
def how(request):
    """Every engine and every choice of coordinates once."""
    return {"coordinates": request.param[0], "engine": request.param[1]}
