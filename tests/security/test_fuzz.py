"""2000 inputs nobody would write; any number of them: python -m tests.security.fuzz."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.security.fuzz import EACH, KINDS, tried


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_errors_of_ours_comes_out(kind):
    @settings(
        max_examples=EACH, deadline=None, database=None, derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(st.randoms(use_true_random=True))
    def check(r):
        assert not (what := tried(kind, r)), what

    check()
