"""What a machine makes of a model: every size up to the queue's, each replica busy, and arithmetic that holds."""

import asyncio
import json

import pytest

from pcevolve_server import capacity
from pcevolve_server.models import Offer
from pcevolve_server.settings import Batching, ModelSettings, Settings
from support.served import FakeGenerator, on_thread


class Pair:
    """Two replicas that take a hundredth of a second for a run."""

    replicas = 2

    def __init__(self, companions=1):
        self.offers = (Offer(FakeGenerator().info, companions, False),)
        self.runs, self.at_once = [], 0

    async def run(self, tasks):
        self.runs.append(tasks)
        self.at_once += 1
        assert self.at_once <= 2
        await asyncio.sleep(0.01)
        self.at_once -= 1
        return []


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(capacity, "_SECONDS", 0.05)


def found(engine, told=None, **settings):
    tell = (told if told is not None else []).append
    return asyncio.run(capacity.measured(engine, Settings(**settings), tell))


@pytest.mark.parametrize(
    ("companions", "settings", "sizes"),
    [
        (1, {"max_batch": 4}, [1, 2, 4]),
        (1, {"max_batch": 6}, [1, 2, 4, 6]),
        (16, {"max_batch": 4}, [1, 2, 4, 8, 16]),
        (16, {"max_batch": 1, "model": ModelSettings(batching=Batching.MERGE)}, [1]),
    ],
)
def test_runs_have_every_size_that_the_queue_would_make(companions, settings, sizes):
    figures = found(Pair(companions), **settings).figures
    assert [each.images for each in figures if each.verb == "text-to-image"] == sizes
    assert [each.images for each in figures if each.verb == "image-to-image"] == sizes


def test_all_replicas_work_and_count():
    engine, told = Pair(), []
    one = found(engine, told, max_batch=2)
    assert len(engine.runs) % 2 == 0
    assert one.replicas == 2
    for each in one.figures:
        assert each.images_per_second == pytest.approx(2 * each.images / each.seconds)
    assert told[0] == "1 of 4: text-to-image, 1 images a run"


def test_what_it_implies_follows_from_the_figures():
    one = found(Pair(), max_batch=2)
    implied, best = json.loads(json.dumps(one.as_json())), one.best["text-to-image"]
    assert best.images == 2
    assert implied["images_per_hour"] == round(3600 * best.images_per_second)
    assert implied["seconds_for_1500_candidates"] == round(1500 / best.images_per_second, 1)
    assert f"{implied['images_per_hour']} images an hour" in one.as_text()


def test_variations_have_an_image_and_creations_none():
    engine = Pair()
    found(engine, max_batch=1)
    assert {(task.image is None, task.recipe.strength is None) for run in engine.runs for task in run} == {
        (True, True),
        (False, False),
    }


def test_a_generator_is_measured_as_it_would_be_served():
    async def one():
        engine = await on_thread(FakeGenerator)()
        return await capacity.measured(engine, Settings(max_batch=2), [].append)

    assert asyncio.run(one()).model == "maker/fake"
