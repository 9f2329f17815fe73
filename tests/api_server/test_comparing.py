"""Threads or processes: three ways to use the cores are tried, and the simplest that is fast enough is advised."""

from __future__ import annotations

import asyncio
import json

import pytest

from pcevolve_server import benching, capacity
from pcevolve_server.engines import choice
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import Offer
from pcevolve_server.settings import EngineKind, Settings
from support.served import FakeGenerator

ONE, ALL, SEVERAL = "--threads 1", "--threads 8", "--engine processes --replicas 4 --threads 2"


ON_PROCESSOR = Settings(model=ModelSettings(device="cpu"))


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(choice, "cores", lambda: 8)


@pytest.fixture
def opened(eight_cores, monkeypatch):
    """Has chosen ways fail to open; the others stay for a hundredth of a second."""
    monkeypatch.setattr(capacity, "_SECONDS", 0.01)

    def opened(*failing):
        def opening(settings, stopping):
            async def engine():
                if settings.engine in failing:
                    raise ModelLoadError("no memory")
                return Cores()

            return engine

        monkeypatch.setattr(choice, "opening", opening)

    return opened


class Cores:
    """An engine that takes no time."""

    replicas, offers = 1, (Offer(FakeGenerator().info, 2, False),)

    async def run(self, tasks):
        await asyncio.sleep(0.001)
        return []

    async def close(self):
        pass


def test_what_fails_in_one_way_alone_leaves_what_was_measured_of_the_others(opened, capsys):
    opened(EngineKind.PROCESSES)
    benching.run(ON_PROCESSOR, as_json=True, compare=True)
    found = json.loads(capsys.readouterr().out)
    assert list(found["ways"]) == [ONE, ALL]
    assert found["failed"] == {SEVERAL: "no memory"}
