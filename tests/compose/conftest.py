"""The suite's count of attempts."""

from __future__ import annotations

import pytest

from support.tally import Tally

TALLY = Tally("compose", ("tried", "refused", "allowed", "escaped"))


def pytest_unconfigure(config: pytest.Config) -> None:
    """The result of the suite, when it ran."""
    TALLY.report()


@pytest.fixture
def tally() -> Tally:
    return TALLY
