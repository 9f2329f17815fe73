"""The queue: bounded, in order, chunked by length alone, merged only by equal recipes."""

import asyncio
import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest

from pcevolve_server.batcher import Batcher
from pcevolve_server.errors import BusyError, GenerationError, NotReadyError
from pcevolve_server.generator import Recipe, Task
from pcevolve_server.metrics import Metrics
from pcevolve_server.settings import Batching

RECIPE = Recipe(width=8, height=8)


def tasks(*seeds, prompt="p", **changes):
    return [Task(dataclasses.replace(RECIPE, **changes), prompt, "", seed) for seed in seeds]


def seeds_of(pictures):
    return [picture.image.getpixel((0, 0))[0] for picture in pictures]


def batches_of(generator):
    return [[task.seed for task in batch] for batch in generator.batches]


def running(scenario, generator, **options):
    """Run ``scenario(batcher)`` on an event loop of its own."""
    options = {"max_batch": 4, "batching": Batching.MERGE, "queue_limit": 8} | options

    async def run():
        with ThreadPoolExecutor(max_workers=1) as executor:
            batcher = Batcher(generator, executor, Metrics(), **options)
            try:
                return await asyncio.wait_for(scenario(batcher), 20)
            finally:
                generator.gate.set()
                await batcher.close()

    return asyncio.run(run())


async def behind_a_running_batch(batcher, generator, *requests):
    """Submit ``requests`` while the model is held up by another, then let go."""
    generator.gate.clear()
    first = asyncio.create_task(batcher.submit(tasks(99, steps=1)))
    while not generator.batches:
        await asyncio.sleep(0.001)
    waiting = [asyncio.create_task(batcher.submit(request)) for request in requests]
    await asyncio.sleep(0.02)
    generator.gate.set()
    await first
    return await asyncio.gather(*waiting, return_exceptions=True)


def test_a_long_request_is_cut_into_chunks_and_put_together_in_order(fake):
    pictures = running(lambda batcher: batcher.submit(tasks(*range(10))), fake)
    assert seeds_of(pictures) == list(range(10))
    assert batches_of(fake) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_merging_fills_a_batch_with_requests_of_the_same_recipe(fake):
    requests = [tasks(1), tasks(2, steps=9), tasks(3, 4), tasks(5)]
    results = running(lambda batcher: behind_a_running_batch(batcher, fake, *requests), fake)
    assert [seeds_of(result) for result in results] == [[1], [2], [3, 4], [5]]
    assert batches_of(fake) == [[99], [1, 3, 4, 5], [2]]


def test_chunks_are_never_torn_to_fill_a_batch(fake):
    requests = [tasks(1, 2, 3), tasks(4, 5), tasks(6)]
    running(lambda batcher: behind_a_running_batch(batcher, fake, *requests), fake)
    assert batches_of(fake) == [[99], [1, 2, 3, 6], [4, 5]]


def test_exact_batching_runs_each_chunk_alone(fake):
    requests = [tasks(1), tasks(2), tasks(*range(3, 8))]
    running(lambda batcher: behind_a_running_batch(batcher, fake, *requests), fake, batching=Batching.EXACT)
    assert batches_of(fake) == [[99], [1], [2], [3, 4, 5, 6], [7]]


def test_a_full_queue_refuses_and_says_when_to_come_back(fake):
    requests = [tasks(1), tasks(2), tasks(3)]
    results = running(lambda batcher: behind_a_running_batch(batcher, fake, *requests), fake, queue_limit=3)
    assert seeds_of(results[0]) == [1]
    assert isinstance(results[2], BusyError)
    assert results[2].retry_after_seconds >= 1


def test_a_failing_batch_fails_its_requests_and_no_other(fake):
    requests = [tasks(1, prompt="explode"), tasks(2, steps=3)]
    failed, fine = running(lambda batcher: behind_a_running_batch(batcher, fake, *requests), fake)
    assert isinstance(failed, GenerationError)
    assert "SECRET" not in str(failed)
    assert seeds_of(fine) == [2]


def test_a_cancelled_request_leaves_the_queue(fake):
    async def scenario(batcher):
        fake.gate.clear()
        first = asyncio.create_task(batcher.submit(tasks(99)))
        while not fake.batches:
            await asyncio.sleep(0.001)
        given_up = asyncio.create_task(batcher.submit(tasks(1)))
        await asyncio.sleep(0.01)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        fake.gate.set()
        await first
        await batcher.submit(tasks(2))

    running(scenario, fake)
    assert batches_of(fake) == [[99], [2]]


def test_closing_finishes_the_running_batch_and_refuses_the_rest(fake):
    async def scenario(batcher):
        fake.gate.clear()
        first = asyncio.create_task(batcher.submit(tasks(99)))
        while not fake.batches:
            await asyncio.sleep(0.001)
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
