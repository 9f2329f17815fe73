"""What a machine makes of a model: every size up to the queue's, each replica busy, and arithmetic that holds."""

from __future__ import annotations

import asyncio
import json

from pcevolve_server import capacity
from pcevolve_server.models import Offer
from pcevolve_server.settings import Settings
from support.served import FakeGenerator


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


def found(engine, told=None, **settings):
    tell = (told if told is not None else []).append
    return asyncio.run(capacity.measure(engine, Settings(**settings), tell))


def test_what_it_implies_follows_from_the_figures():
    one = found(Pair(), max_batch=2)
    implied, best = json.loads(json.dumps(one.as_json())), one.best["text-to-image"]
    assert best.images == 2
    assert implied["images_per_hour"] == round(3600 * best.images_per_second)
    assert implied["seconds_for_1500_candidates"] == round(1500 / best.images_per_second, 1)
    assert f"{implied['images_per_hour']} images an hour" in one.as_text()
