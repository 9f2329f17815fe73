"""When a batch with room runs: those who come back are waited for, nobody else is for long."""

import asyncio
import selectors
import statistics

import pytest
from PIL import Image

from pcevolve_server.metrics import Metrics
from pcevolve_server.model_settings import Batching, ModelSettings
from pcevolve_server.models import ModelDescription
from pcevolve_server.queue.batcher import Batcher
from pcevolve_server.queue.batching import BatchLimit, BatchWindow
from pcevolve_server.settings import Settings
from pcevolve_server.work import Picture, Recipe, Task
from support.served import FakeGenerator


class _Jumping(selectors.SelectSelector):
    """Has waited for as long as it is asked to."""

    now = 0.0

    def select(self, timeout=None):
        self.now += timeout or 0.0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code that knows the time from the loop alone and waits for nothing outside it."""

    def __init__(self):
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self):
        return self._jumping.now


def passing(work):
    """Return what a coroutine returns, with no time wasted on waiting."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


@pytest.mark.parametrize(
    ("companions", "given", "most"), [(64, None, 64), (64, 1, 1), (8, 16, 8), (1, None, 16)]
)
def test_a_batch_has_as_many_images_as_the_model_and_whoever_runs_it_allow(companions, given, most):
    model = ModelDescription(FakeGenerator().info, companions, False)
    assert BatchLimit.of(Recipe(64, 32), model, ModelSettings(max_batch=given)).most == most


@pytest.mark.parametrize(
    ("sides", "known", "most", "chunk"),
    [
        ((64, 32), None, 16, 16),
        ((8, 8), None, 16, 16),  # of smaller images no more
        ((128, 64), None, 4, 4),
        ((256, 256), None, 1, 1),  # and of images larger than a whole batch one at a time
        ((64, 32), 5 * 64 * 32, 5, 5),
        ((128, 64), 5 * 64 * 32, 1, 1),
    ],
)
def test_a_batch_is_as_large_as_its_pixels_allow(sides, known, most, chunk):
    info = FakeGenerator().info.model_copy(update={"batch_pixels": known})
    limit = BatchLimit.of(Recipe(*sides), ModelDescription(info, 1, False), ModelSettings())
    assert (limit.most, limit.chunk) == (most, chunk)
    merging = ModelSettings(batching=Batching.MERGE)
    merged = BatchLimit.of(Recipe(*sides), ModelDescription(info, 1, False), merging)
    assert (merged.most, merged.chunk) == (most, 1)


def test_a_padded_batch_of_larger_images_costs_no_more_than_it_holds():
    model = ModelDescription(FakeGenerator().info, 16, True)
    limits = [BatchLimit.of(Recipe(*sides), model, ModelSettings()) for sides in ((64, 32), (128, 64))]
    assert [(each.most, each.least) for each in limits] == [(16, 16), (4, 4)]


RUN_SECONDS, FULL = 0.24, 16
PADDED, PLAIN = BatchLimit(FULL, merges=True, least=FULL), BatchLimit(FULL, merges=True)


class Padding:
    """Replicas of a model whose run takes as long for one image as for sixteen."""

    descriptions = (ModelDescription(FakeGenerator().info, FULL, True),)

    def __init__(self, replicas):
        self.replicas, self.sizes = replicas, []

    async def run(self, asked):
        self.sizes.append(len(asked))
        await asyncio.sleep(RUN_SECONDS)
        return [Picture(Image.new("RGB", (8, 8))) for _ in asked]


async def measure_under_load(replicas, clients, back_seconds=0.0):
    """Sizes of batches and waits while clients ask again and again; images are written one by one, and travel."""
    engine, loop, writing = Padding(replicas), asyncio.get_running_loop(), asyncio.Lock()
    batcher, waits = Batcher(engine, Metrics(), Settings()), []

    async def ask(number):
        await asyncio.sleep(RUN_SECONDS * number / clients)
        while loop.time() < 8:
            begun = loop.time()
            await batcher.submit([Task(Recipe(64, 32), "p", "", number)])
            waits.append(loop.time() - begun)
            async with writing:
                await asyncio.sleep(0.003)
            await asyncio.sleep(back_seconds)

    await asyncio.gather(*map(ask, range(clients)))
    await batcher.close()
    middle = slice(len(engine.sizes) // 3, -replicas)
    return statistics.mean(engine.sizes[middle]), statistics.median(waits)


@pytest.mark.parametrize(("replicas", "clients"), [(1, 32), (2, 32), (2, 64), (4, 64)])
def test_replicas_run_full_batches_where_enough_clients_ask_again(replicas, clients):
    size, _ = passing(measure_under_load(replicas, clients))
    assert size >= 0.95 * FULL


@pytest.mark.parametrize("clients", [2, 8])
def test_few_clients_share_one_batch_and_do_not_wait_for_each_others(clients):
    size, wait = passing(measure_under_load(1, clients))
    assert size >= 0.95 * clients
    assert wait < 1.2 * RUN_SECONDS


def test_clients_who_take_a_while_to_ask_again_do_not_fall_into_two_groups():
    """One that came too late would run alone, and then wait for all others' run, for ever."""
    size, _ = passing(measure_under_load(1, 8, back_seconds=0.035))
    assert size >= 0.95 * 8


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_lone_client_waits_for_nobody(replicas):
    assert passing(measure_under_load(replicas, 1))[1] == pytest.approx(RUN_SECONDS, abs=1e-6)


async def answered(under_way):
    """Seconds until one client's requests are answered, so many under way at once; each answer is read first."""
    batcher, left = Batcher(Padding(1), Metrics(), Settings()), iter(range(12))

    async def ask():
        for _ in left:
            await batcher.submit([Task(Recipe(64, 32), "p", "", seed) for seed in range(30)])
            await asyncio.sleep(0.1)

    await asyncio.gather(*(ask() for _ in range(under_way)))
    await batcher.close()
    return asyncio.get_running_loop().time()


def test_one_client_with_two_requests_under_way_keeps_a_replica_at_work_and_with_one_it_does_not():
    """Which is why a client asks an API nearby for two at a time."""
    at_work = 12 * 30 / FULL * RUN_SECONDS
    assert passing(answered(2)) < 1.1 * at_work
    assert passing(answered(1)) > 1.3 * at_work


async def time_batch(limit, arrivals, answered, stopping=False, ago=0.0):
    """Seconds that a batch waited while images arrived at these times, so long after a run of a second."""
    loop, window = asyncio.get_running_loop(), BatchWindow()
    window.learn(1.0, answered)
    await asyncio.sleep(ago)
    begun = loop.time()
    await window.fill(limit, lambda: sum(each <= loop.time() - begun for each in arrivals), lambda: stopping)
    return loop.time() - begun


@pytest.mark.parametrize(
    ("limit", "arrivals", "answered", "waited"),
    [
        (PADDED, [0.0] * FULL, FULL, 0.0),  # it is full
        (PADDED, [0.0], 1, 0.0),  # nobody else is likely to come
        (PADDED, [0.0], 0, 0.02),  # nothing is known
        (PADDED, [0.0], FULL, 0.2),  # fifteen more were likely to, and did not
        (PADDED, [0.0, 0.09, 0.17], FULL, 0.38),  # each newcomer is a reason to wait for the next
        (PADDED, [place / 12 for place in range(FULL)], FULL, 0.4),  # but not for ever
        (PLAIN, [0.0, 0.01, 0.03], 3, 0.04),  # until all are there
    ],
)
def test_a_batch_waits_as_long_as_newcomers_are_worth_it(limit, arrivals, answered, waited):
    assert passing(time_batch(limit, arrivals, answered)) == pytest.approx(waited, abs=1e-6)


def test_no_pause_is_longer_than_a_twentieth_of_a_second_and_a_full_batch_takes_none():
    async def wait(waiting):
        loop, window = asyncio.get_running_loop(), BatchWindow()
        window.learn(3600.0, 0)
        begun = loop.time()
        await window.fill(PADDED, lambda: waiting, lambda: False)
        return loop.time() - begun

    assert [passing(wait(waiting)) for waiting in (1, FULL)] == [pytest.approx(0.05), 0]


@pytest.mark.parametrize(("ago", "waited"), [(2.7, 0.2), (3.1, 0.02)])
def test_those_who_were_answered_long_ago_are_not_waited_for(ago, waited):
    assert passing(time_batch(PADDED, [0.0], FULL, ago=ago)) == pytest.approx(waited, abs=1e-6)


def test_a_server_that_stops_waits_for_nobody():
    assert passing(time_batch(PADDED, [0.0], FULL, stopping=True)) == 0
