"""When a batch with room runs: those who come back are waited for, nobody else is for long."""

import asyncio
import statistics

import pytest
from PIL import Image

from pcevolve_server.metrics import Metrics
from pcevolve_server.models import Offer
from pcevolve_server.queue.batcher import Batcher
from pcevolve_server.queue.gathering import Gathering, Room, Rooms
from pcevolve_server.settings import Batching, ModelSettings, Settings
from pcevolve_server.work import Picture, Recipe, Task
from support.served import FakeGenerator
from support.virtual_time import passing

RUN_SECONDS, FULL = 0.24, 16
PADDED, PLAIN = Room(FULL, merges=True, least=FULL), Room(FULL, merges=True)


class Padding:
    """Replicas of a model whose run takes as long for one image as for sixteen."""

    offers = (Offer(FakeGenerator().info, FULL, True),)

    def __init__(self, replicas):
        self.replicas, self.sizes, self.begun = replicas, [], []

    async def run(self, asked, _):
        self.sizes.append(len(asked))
        self.begun.append(asyncio.get_running_loop().time())
        await asyncio.sleep(RUN_SECONDS)
        return [Picture(Image.new("RGB", (8, 8))) for _ in asked]


async def loaded(replicas, clients, write_seconds=0.003, seconds=8):
    """Sizes of batches and waits while clients ask for an image again and again; images are written one by one."""
    engine, loop, writing = Padding(replicas), asyncio.get_running_loop(), asyncio.Lock()
    batcher, waits = Batcher(engine, Metrics(), Settings()), []

    async def ask(number):
        await asyncio.sleep(RUN_SECONDS * number / clients)
        while loop.time() < seconds:
            begun = loop.time()
            await batcher.submit([Task(Recipe(8, 8), "p", "", number)])
            waits.append(loop.time() - begun)
            async with writing:
                await asyncio.sleep(write_seconds)

    await asyncio.gather(*map(ask, range(clients)))
    await batcher.close()
    middle = slice(len(engine.sizes) // 3, -replicas)
    return statistics.mean(engine.sizes[middle]), statistics.median(waits)


@pytest.mark.parametrize(("replicas", "clients"), [(1, 32), (2, 32), (2, 64), (4, 64)])
def test_replicas_run_full_batches_where_enough_clients_ask_again(replicas, clients):
    size, _ = passing(loaded(replicas, clients))
    assert size >= 0.95 * FULL


def test_few_clients_share_one_batch_and_do_not_wait_for_each_others():
    size, wait = passing(loaded(1, 8))
    assert size >= 0.95 * 8
    assert wait < 1.2 * RUN_SECONDS


def test_a_lone_client_waits_for_nobody():
    assert passing(loaded(2, 1))[1] < 1.05 * RUN_SECONDS


async def sizes_when(*arrivals, cancelled=()):
    """When each batch began and its size, where requests of images of a side arrive at times."""
    engine, loop = Padding(1), asyncio.get_running_loop()
    batcher = Batcher(engine, Metrics(), Settings())

    async def ask(at, images, side):
        await asyncio.sleep(at)
        await batcher.submit([Task(Recipe(side, side), "p", "", seed) for seed in range(images)])

    asked = [asyncio.create_task(ask(*each)) for each in arrivals]
    for number, at in cancelled:
        loop.call_later(at, asked[number].cancel)
    await asyncio.gather(*asked, return_exceptions=True)
    await batcher.close()
    return list(zip(engine.begun, engine.sizes, strict=True))


SHORTEST = 0.004  # a pause before anything ran


def test_arrivals_of_another_recipe_hold_nobody_up():
    others = [(0.003 * place, 1, 16) for place in range(1, 12)]
    assert passing(sizes_when((0.0, 1, 8), *others))[0] == (pytest.approx(SHORTEST, abs=1e-6), 1)


def test_a_full_batch_of_another_recipe_makes_none_leave_early():
    batches = passing(sizes_when((0.0, 1, 8), (0.0, FULL, 16), (0.003, 1, 8)))
    assert batches[0][1] == 2


def test_who_hung_up_is_no_company():
    others = [(0.003 * place, 1, 8) for place in range(1, 12)]
    hung_up = [(place, 0.003 * place + 0.0001) for place in range(1, 12)]
    found = passing(sizes_when((0.0, 1, 8), *others, cancelled=hung_up))
    assert found == [(pytest.approx(SHORTEST, abs=1e-6), 1)]


def test_each_model_has_its_own_pauses_and_those_who_come_back():
    async def second_of_the_other():
        engine = Padding(1)
        batcher = Batcher(engine, Metrics(), Settings())
        for model, images in (("one", FULL), ("other", 1)):
            recipe = Recipe(8, 8, model=model)
            await batcher.submit([Task(recipe, "p", "", seed) for seed in range(images)])
        await batcher.close()
        return engine.begun[1] - engine.begun[0] - RUN_SECONDS

    assert passing(second_of_the_other()) == pytest.approx(SHORTEST, abs=1e-6)


async def filled(room, arrivals, answered=0, seconds=1.0, stopping=False, ago=0.0):
    """Seconds that a batch waited while images arrived at these times, so long after a run of so many seconds."""
    loop, gathering = asyncio.get_running_loop(), Gathering()
    gathering.learn(seconds, answered)
    await asyncio.sleep(ago)
    begun = loop.time()
    await gathering.fill(
        room, lambda: sum(each <= loop.time() - begun for each in arrivals), lambda: stopping
    )
    return loop.time() - begun


@pytest.mark.parametrize(
    ("room", "arrivals", "answered", "waited"),
    [
        (PADDED, [0.0] * FULL, FULL, 0.0),  # it is full
        (PADDED, [0.0], 1, 0.02),  # nobody else is likely to come
        (PADDED, [0.0], FULL, 0.1),  # fifteen more were likely to, and did not
        (PADDED, [0.0, 0.09, 0.17], FULL, 0.28),  # each newcomer is a reason to wait for the next
        (PADDED, [place / 12 for place in range(FULL)], FULL, 0.4),  # but not for ever
        (PLAIN, [0.0], FULL, 0.02),  # companions cost what they cost: they are not waited for
        (PLAIN, [place / 60 for place in range(FULL)], FULL, 0.1),
    ],
)
def test_a_batch_waits_as_long_as_newcomers_are_worth_it(room, arrivals, answered, waited):
    assert passing(filled(room, arrivals, answered)) == pytest.approx(waited, abs=1e-6)


@pytest.mark.parametrize(("ago", "waited"), [(2.5, 0.1), (3.5, 0.02)])
def test_who_was_answered_long_ago_is_not_expected_back(ago, waited):
    assert passing(filled(PADDED, [0.0], FULL, ago=ago)) == pytest.approx(waited, abs=1e-6)


def test_pauses_are_bounded_whatever_a_run_takes():
    assert passing(filled(PADDED, [0.0], seconds=600)) == pytest.approx(0.05)
    assert passing(filled(PADDED, [0.0], seconds=0.0)) == pytest.approx(0.004)


def test_a_server_that_stops_gathers_nothing():
    assert passing(filled(PADDED, [0.0], FULL, stopping=True)) == 0


EXACT = Settings(max_batch=4)
MERGE = Settings(max_batch=4, model=ModelSettings(batching=Batching.MERGE))


@pytest.mark.parametrize(
    ("settings", "companions", "padded", "room"),
    [
        (EXACT, 1, False, Room(4, merges=False)),
        (EXACT, 16, True, Room(16, merges=True, least=16)),
        (EXACT, 64, False, Room(64, merges=True)),  # each for itself: a lone one costs what it costs
        (MERGE, 1, False, Room(4, merges=True)),
    ],
)
def test_only_a_model_that_pads_is_worth_waiting_for_company(settings, companions, padded, room):
    found = Rooms((Offer(FakeGenerator().info, companions, padded),), settings).of(Recipe(8, 8))
    assert found == room
    assert found.padded == padded
