"""The queue: bounded, in order, chunked by length alone, merged only by equal recipes."""

import asyncio
import dataclasses

import pytest
from PIL import Image

from pcevolve_server.errors import BusyError, DeadlineError, GenerationError, NotReadyError
from pcevolve_server.metrics import Metrics
from pcevolve_server.model_settings import Batching, ModelSettings
from pcevolve_server.models import ModelDescription
from pcevolve_server.queue.batcher import Batcher
from pcevolve_server.settings import Settings
from pcevolve_server.work import Picture, Recipe, Task
from support.served import FakeGenerator, on_thread

RECIPE = Recipe(width=8, height=8)


def tasks(*seeds, prompt="p", **changes):
    return [Task(dataclasses.replace(RECIPE, **changes), prompt, "", seed) for seed in seeds]


def seeds_of(pictures):
    return [picture.image.getpixel((0, 0))[0] for picture in pictures]


def batches_of(generator):
    return [[task.seed for task in batch] for batch in generator.batches]


def running(scenario, generator, **options):
    """Run ``scenario(batcher)`` on an event loop of its own."""
    model = ModelSettings(batching=options.pop("batching", Batching.MERGE), max_batch=4)
    settings = Settings(model=model)
    settings = dataclasses.replace(settings, **options)

    async def run():
        engine = await on_thread(lambda: generator)()
        batcher = Batcher(engine, Metrics(), settings)
        try:
            return await asyncio.wait_for(scenario(batcher), 20)
        finally:
            generator.gate.set()
            await batcher.close()
            await engine.close()

    return asyncio.run(run())


class Pair:
    """An engine of two replicas that note what they run and end when told to."""

    replicas, descriptions = 2, (ModelDescription(FakeGenerator().info, 1, False),)

    def __init__(self):
        self.begun, self.gate = [], asyncio.Event()

    async def run(self, asked):
        self.begun.append([task.seed for task in asked])
        await self.gate.wait()
        return [Picture(Image.new("RGB", (8, 8), (task.seed, 0, 0)), refused=1) for task in asked]


def test_each_replica_runs_a_batch_and_the_next_waits_for_one_of_them():
    async def scenario():
        pair, metrics = Pair(), Metrics()
        batcher = Batcher(pair, metrics, Settings())
        asked = [asyncio.create_task(batcher.submit(tasks(seed, seed, steps=seed))) for seed in (1, 2, 3)]
        while len(pair.begun) < 2:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        held = list(pair.begun)
        pair.gate.set()
        answers = await asyncio.gather(*asked)
        await batcher.close()
        return held, [seeds_of(answer) for answer in answers], metrics.text().decode()

    held, answers, metrics = asyncio.run(scenario())
    assert held == [[1, 1], [2, 2]]
    assert answers == [[1, 1], [2, 2], [3, 3]]
    assert "pcevolve_images_rejected_total 6.0" in metrics


def test_a_queue_that_fails_is_no_server_that_is_ready():
    async def scenario():
        pair, lost = Pair(), asyncio.Event()
        batcher = Batcher(pair, Metrics(), Settings(), lambda _: lost.set())
        asked = asyncio.create_task(batcher.submit(tasks(1)))
        await asyncio.sleep(0)
        pair.descriptions = ()
        await asyncio.wait_for(lost.wait(), 5)
        asked.cancel()
        await batcher.close()

    asyncio.run(scenario())


async def hold(batcher, generator, asked):
    """Submit tasks and return when the model is held up by them."""
    generator.gate.clear()
    first = asyncio.create_task(batcher.submit(asked))
    while not generator.batches:
        await asyncio.sleep(0.001)
    return first


async def behind_a_running_batch(batcher, generator, *requests):
    """Submit ``requests``, tasks or a caller and tasks, while the model is held up by another, then let go."""
    first = await hold(batcher, generator, tasks(99, steps=1))
    named = [each if isinstance(each, tuple) else ("", each) for each in requests]
    waiting = [asyncio.create_task(batcher.submit(asked, caller)) for caller, asked in named]
    await asyncio.sleep(0.02)
    generator.gate.set()
    await first
    return await asyncio.gather(*waiting, return_exceptions=True)


def queued(generator, *requests, **options):
    """Run requests that came while the model was held up by another."""
    return running(
        lambda batcher: behind_a_running_batch(batcher, generator, *requests), generator, **options
    )


def test_merging_fills_a_batch_with_requests_of_the_same_recipe(fake):
    requests = [tasks(1), tasks(2, steps=9), tasks(3, 4), tasks(5)]
    results = queued(fake, *requests)
    assert [seeds_of(result) for result in results] == [[1], [2], [3, 4], [5]]
    assert batches_of(fake) == [[99], [1, 3, 4, 5], [2]]


@pytest.mark.parametrize(
    ("companions", "batches"), [(1, [[1], [2], [3, 4, 5, 6], [7]]), (4, [[1, 2, 3, 4], [5, 6, 7]])]
)
def test_exact_batching_shares_runs_only_where_companions_do_not_show(fake, companions, batches):
    fake.bit_exact_batch_size = companions
    queued(fake, tasks(1), tasks(2), tasks(*range(3, 8)), batching=Batching.EXACT)
    assert batches_of(fake) == [[99], *batches]


@pytest.mark.parametrize("batching", list(Batching))
def test_a_single_image_waits_for_about_one_batch_of_another_key(fake, batching):
    requests = [
        ("greedy", tasks(*range(8), steps=3)),
        ("greedy", tasks(*range(8, 16), steps=3)),
        ("modest", tasks(77)),
    ]
    queued(fake, *requests, batching=batching)
    assert batches_of(fake)[:3] == [[99], [0, 1, 2, 3], [77]]
    assert [seed for batch in batches_of(fake)[3:] for seed in batch] == list(range(4, 16))


def test_a_full_queue_refuses_and_says_when_to_come_back(fake):
    requests = [tasks(1, steps=2), tasks(2, steps=2), tasks(3)]
    results = queued(fake, *requests, queue_megapixel_steps=4 * 64e-6)
    assert [seeds_of(result) for result in results[:2]] == [[1], [2]]
    assert isinstance(results[2], BusyError)
    assert results[2].retry_after_seconds >= 1


def test_one_key_cannot_fill_the_queue_for_others(fake):
    requests = [("greedy", tasks(1, 2, steps=5)), ("greedy", tasks(3)), ("modest", tasks(4))]
    results = queued(fake, *requests, queue_megapixel_steps_per_key=10 * 64e-6)
    assert isinstance(results[1], BusyError)
    assert "this key" in str(results[1])
    assert [seeds_of(results[place]) for place in (0, 2)] == [[1, 2], [4]]


def test_what_takes_too_long_is_refused_and_leaves_the_queue(fake):
    async def scenario(batcher):
        fake.gate.clear()
        asked = [batcher.submit(tasks(seed, steps=seed)) for seed in (1, 2)]
        late = await asyncio.gather(*asked, return_exceptions=True)
        return [(type(each), str(each)) for each in late], batcher._waiting.images

    late, left = running(scenario, fake, deadline_seconds=0.1)
    assert (late, left) == ([(DeadlineError, "not done within 0.1 seconds")] * 2, 0)


def test_a_run_that_nobody_waits_for_ends_before_it_is_done(fake):
    async def scenario(batcher):
        (await hold(batcher, fake, tasks(1))).cancel()
        # The gate stays shut: the model is free again only because the run was given up.
        for _ in range(500):
            if not batcher._running:
                return
            await asyncio.sleep(0.01)
        pytest.fail("the run went on")

    running(scenario, fake)


def test_a_refusing_batcher_tells_whoever_waits_and_whoever_is_served(fake):
    async def scenario(batcher):
        asked = [await hold(batcher, fake, tasks(1)), asyncio.create_task(batcher.submit(tasks(2, steps=2)))]
        await asyncio.sleep(0.01)
        batcher.refuse()
        return await asyncio.gather(*asked, return_exceptions=True)

    refused = running(scenario, fake)
    assert [(type(each), each.code, each.retry_after_seconds) for each in refused] == 2 * [
        (NotReadyError, "stopping", 5)
    ]


@pytest.mark.parametrize("companions", [1, 4])
def test_a_task_that_the_model_fails_on_fails_no_stranger_in_its_batch(fake, companions):
    fake.bit_exact_batch_size = companions
    requests = [tasks(1), tasks(2, prompt="explode"), tasks(3)]
    batching = Batching.MERGE if companions == 1 else Batching.EXACT
    first, failed, last = queued(fake, *requests, batching=batching)
    assert (seeds_of(first), seeds_of(last)) == ([1], [3])
    assert isinstance(failed, GenerationError)
    assert batches_of(fake) == [[99], [1, 2, 3], [1], [2], [3]]


def test_a_cancelled_request_leaves_the_queue_at_once_with_all_its_parts(fake):
    async def scenario(batcher):
        first = await hold(batcher, fake, tasks(99))
        given_up = asyncio.create_task(batcher.submit(tasks(*range(9))))
        await asyncio.sleep(0.01)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        assert batcher._waiting.images == 0
        fake.gate.set()
        await first
        await batcher.submit(tasks(2))

    running(scenario, fake)
    assert batches_of(fake) == [[99], [2]]


@pytest.mark.parametrize(("batching", "batches"), [(Batching.MERGE, [[1, 2]]), (Batching.EXACT, [[1], [2]])])
def test_company_is_waited_for_where_it_may_share_a_run_and_each_wait_is_measured(fake, batching, batches):
    async def scenario(batcher):
        batcher._windows[""].learn(2.5, 2)
        first = asyncio.create_task(batcher.submit(tasks(1)))
        await asyncio.sleep(0.02)
        await asyncio.gather(first, batcher.submit(tasks(2)))
        return batcher._metrics.text().decode()

    told = running(scenario, fake, batching=batching)
    assert batches_of(fake) == batches
    assert f'pcevolve_stage_seconds_count{{stage="wait"}} {len(batches)}.0' in told


def test_closing_finishes_the_running_batch_and_refuses_the_rest(fake):
    async def scenario(batcher):
        first = await hold(batcher, fake, tasks(99))
        waiting = asyncio.create_task(batcher.submit(tasks(1)))
        await asyncio.sleep(0.01)
        closing = asyncio.create_task(batcher.close())
        await asyncio.sleep(0.01)
        fake.gate.set()
        await closing
        assert seeds_of(await first) == [99]
        with pytest.raises(NotReadyError, match="stopping"):
            await waiting
        with pytest.raises(NotReadyError, match="stopping"):
            await batcher.submit(tasks(3))

    running(scenario, fake)


def test_room_beside_a_key_in_turn_is_for_others_of_the_same_recipe(fake):
    requests = [("one", tasks(1, 2, 3)), ("two", tasks(4, 5)), ("three", tasks(6))]
    queued(fake, *requests)
    assert batches_of(fake) == [[99], [1, 2, 3, 4], [6, 5]]  # two had a place already, so it is three's turn
