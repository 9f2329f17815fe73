"""A model measured here: arithmetic that holds, and the simplest way to use the cores that is fast enough."""

import asyncio
import json
from dataclasses import replace

import pytest

from pcevolve_server import benching
from pcevolve_server.engines import choice
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelDescription
from pcevolve_server.settings import EngineKind, Settings
from support.served import FakeGenerator


@pytest.fixture(autouse=True)
def briefly(monkeypatch):
    """Figures are measured for a tenth of a second: what they come to is not asked."""
    monkeypatch.setattr(benching, "SECONDS", 0.1)


class Pair:
    """Two replicas that take a hundredth of a second for a run."""

    replicas = 2

    def __init__(self, companions=1):
        self.descriptions = (ModelDescription(FakeGenerator().info, companions, False),)
        self.runs, self.at_once = [], 0

    async def run(self, tasks):
        self.runs.append(tasks)
        self.at_once += 1
        assert self.at_once <= 2
        await asyncio.sleep(0.01)
        self.at_once -= 1
        return []


def found(engine, told=None, **settings):
    tell = (told if told is not None else []).append
    return asyncio.run(benching.measure(engine, Settings(**settings), tell))


def test_what_it_implies_follows_from_the_figures():
    one = found(Pair(), max_batch=2)
    implied, best = json.loads(json.dumps(one.as_json())), one.best["text-to-image"]
    assert best.images == 2
    assert implied["images_per_hour"] == round(3600 * best.images_per_second)
    assert implied["seconds_for_1500_candidates"] == round(1500 / best.images_per_second, 1)
    assert f"{implied['images_per_hour']} images an hour" in one.as_text()


def test_a_model_that_edits_is_measured_without_a_strength():
    editing = Pair()
    (one,) = editing.descriptions
    editing.descriptions = (replace(one, info=one.info.model_copy(update={"strengths": False})),)
    text = found(editing, max_batch=1).as_text()
    assert "variations to its own degree" in text
    assert "strength" not in text


ONE, ALL, SEVERAL = "--threads 1", "--threads 8", "--engine processes --replicas 4 --threads 2"


ON_PROCESSOR = Settings(model=ModelSettings(device="cpu"))


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(benching, "count_cores", lambda: 8)


@pytest.fixture
def opened(eight_cores, monkeypatch):
    """Has chosen ways fail to open; the others stay for a hundredth of a second."""

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

    replicas, descriptions = 1, (ModelDescription(FakeGenerator().info, 2, False),)

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
