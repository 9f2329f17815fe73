"""A small run behind a gate."""

from __future__ import annotations

import pytest

from client.wire.egress.rounds import first_round
from pcevolve.public.release import Candidate
from support.provider import FakeProvider
from support.runs import SmallRun


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()


@pytest.fixture
def run(tmp_path, provider) -> SmallRun:
    return SmallRun.open(tmp_path, provider=provider)


@pytest.fixture
def candidate(run) -> Candidate:
    """The first of class "cut", which the provider has sent."""
    return first_round(run)["cut"][0]
