"""A model measured here: arithmetic that holds."""

import asyncio
import json
from dataclasses import replace

import pytest

from pcevolve_server import benching
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelDescription
from pcevolve_server.settings import Settings
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


def found(engine, **settings):
    model = ModelSettings(**settings)
    return asyncio.run(benching.measure(engine, Settings(model=model), lambda _: None))


def test_what_it_implies_follows_from_the_figures():
    one = found(Pair(), max_batch=2)
    implied = json.loads(json.dumps(one.as_json()))
    drawn = [each for each in one.figures if each.verb == "text-to-image"]
    assert [each.images for each in drawn] == [1, 2]
    best = max(drawn, key=lambda each: each.images_per_second)
    assert implied["images_per_hour"] == round(3600 * best.images_per_second)
    assert implied["seconds_for_1500_candidates"] == round(1500 / best.images_per_second, 1)
    assert f"{implied['images_per_hour']} images an hour" in one.as_text()


def test_a_model_that_edits_is_measured_without_a_strength():
    editing = Pair()
    (one,) = editing.descriptions
    editing.descriptions = (replace(one, info=one.info.model_copy(update={"strengths": False})),)
    text = found(editing, max_batch=1).as_text()
    assert "variations of a degree that the model sets" in text
    assert "strength" not in text


def test_no_run_is_measured_that_is_larger_than_what_the_device_has_memory_for():
    small = Pair()
    (one,) = small.descriptions
    small.descriptions = (one.within(batch_pixels=2 * 64 * 32),)
    assert [each.images for each in found(small).figures] == [1, 2, 1, 2]
