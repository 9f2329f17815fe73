"""The soak: its callers do what they say, and each thing that it must not let pass ends it with a failure."""

import asyncio
import json
import random
from collections import Counter

import httpx
import pytest

from benchmarks.soak import traffic
from benchmarks.soak.__main__ import Tally, result
from benchmarks.soak.traffic import CLOSED, HOSTILE, KEY, KEY_OF_BREAKERS, VALID, Site
from flood.servers import LightServer

CREATION, NONSENSE = VALID[0], HOSTILE[1]
STATUSES = {
    "burst": {200, 429},
    "nonsense": {422},
    "impossible": {404, 422},
    "broken_image": {422},
    "stranger": {401},
    "lost": {404, 405},
    "giant": {413, CLOSED},
    "truncated": {CLOSED},
    "dawdler": {408, CLOSED},
    "impatient": {200, 429, CLOSED},
} | {caller.__name__: {200} for caller in VALID}
"""What callers may get of a server in order."""
TIMES = 8  # for callers that draw what they do


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    keys = [KEY, KEY_OF_BREAKERS]
    server = LightServer(tmp_path_factory.mktemp("light") / "log", {"keys": keys, "header_seconds": 0.5})
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize("caller", [*VALID, *HOSTILE], ids=lambda caller: caller.__name__)
def test_every_caller_gets_what_is_due_to_it(light, caller):
    async def called():
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{light.port}", timeout=60) as client:
            site = Site(str(client.base_url), client)
            return {await caller(site) for _ in range(TIMES)}

    random.seed(0)
    assert asyncio.run(called()) <= STATUSES[caller.__name__]


def test_requests_hardly_ever_repeat_a_prompt():
    random.seed(0)
    asked = [traffic._asked()["prompt"] for _ in range(1000)]
    assert len(set(asked)) > 900


def tally(status=200, growth=0.0):
    found = Tally()
    found.note(CREATION, status, 0.1)
    found.note(NONSENSE, 422, 0.0)
    found.memory = [(at, 500 + growth * (at > 50)) for at in range(100)]
    return found


def passed(found, last=("200", "503"), code=0):
    return result(found, Counter(last), code, 100)["passed"]


def test_images_for_users_and_refusals_for_others_pass():
    assert passed(tally())


@pytest.mark.parametrize("status", [500, 429, 422, 0])
def test_a_user_without_images_fails(status):
    assert not passed(tally(status))


def test_memory_that_grows_fails():
    assert passed(tally(growth=60))
    assert not passed(tally(growth=70))


@pytest.mark.parametrize(
    ("last", "code"), [(("500",), 0), (("ReadError",), 0), (("200",), -9), (("200",), None)]
)
def test_an_end_out_of_order_fails(last, code):
    assert not passed(tally(), last, code)


def test_what_was_found_is_one_object_of_json():
    told = json.loads(json.dumps(result(tally(), Counter(["200"]), 0, 100)))
    assert {"requests", "errors_500", "rss_growth_mib"} <= set(told)


def test_any_500_fails_whoever_asked():
    found = tally()
    found.note(NONSENSE, 500, 0.0)
    assert not passed(found)
    assert result(found, Counter(["200"]), 0, 100)["errors_500"] == 1
