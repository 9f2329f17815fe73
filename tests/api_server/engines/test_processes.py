"""Replicas in processes: the same images, and none of their deaths is a caller's."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from functools import partial
from pathlib import Path

import pytest

from pcevolve_server.engines import processes
from pcevolve_server.errors import (
    EngineLostError,
    GenerationError,
    MemoryExceededError,
    ModelLoadError,
)
from pcevolve_server.models import ModelCache
from pcevolve_server.work import Recipe, Task
from support.painters import Breakable, Obedient, unloadable

pytestmark = pytest.mark.system

RECIPE = Recipe(width=8, height=8)


def tasks(prompt, *seeds):
    return [Task(RECIPE, prompt, "", seed) for seed in seeds]


def seeds_of(pictures):
    return [picture.image.getpixel((0, 0))[0] for picture in pictures]


def run_scenario(scenario, load=Obedient, replicas=1):
    """Run ``scenario(engine)`` on an event loop of its own."""

    async def run():
        engine = await processes.opening([partial(ModelCache, [load])] * replicas, 0.0)()
        try:
            return await asyncio.wait_for(scenario(engine), 60)
        finally:
            await engine.close()

    return asyncio.run(run())


def replicas_alive():
    """Ids of the processes that have a model or load one."""
    return {each.pid for each in multiprocessing.active_children() if each.name == "replica"}


def test_a_replica_that_is_killed_is_replaced_and_its_batch_answered(tmp_path):
    async def scenario(engine):
        before = replicas_alive()
        answers = await asyncio.gather(
            engine.run(tasks(f"die once {tmp_path / 'died'}", 7, 8)), engine.run(tasks("p", 9))
        )
        return before, replicas_alive(), [seeds_of(answer) for answer in answers]

    before, after, seeds = run_scenario(scenario, replicas=2)
    assert seeds == [[7, 8], [9]]
    assert len(before & after) == 1
    assert len(after) == 2


def test_the_others_are_described_while_a_replica_is_replaced(tmp_path):
    async def scenario():
        load = partial(load_slowly_again, *(str(tmp_path / name) for name in ("first", "go")))
        engine = await processes.opening([load, partial(ModelCache, [Obedient])], 0.0)()
        try:
            told = [engine.descriptions]
            while (
                dying := asyncio.create_task(engine.run(tasks(f"die once {tmp_path / 'died'}", 7)))
            ) and not (tmp_path / "died").exists():
                await asyncio.sleep(0.1)
            told.append(engine.descriptions)
            (tmp_path / "go").touch()
            return told, seeds_of(await dying)
        finally:
            await engine.close()

    (before, meanwhile), seeds = asyncio.run(scenario())
    assert [each.info.id for each in before] == [each.info.id for each in meanwhile] == ["obedient"]
    assert seeds == [7]


def load_slowly_again(first, go):
    """Load at once, and in a second process when a file is there."""
    while Path(first).exists() and not Path(go).exists():
        time.sleep(0.01)
    Path(first).touch()
    return ModelCache([Obedient])


def test_what_a_replica_learns_of_its_memory_is_known_at_once():
    async def scenario(engine):
        with pytest.raises(MemoryExceededError, match="at most 255 pixels"):
            await engine.run([Task(Recipe(16, 16), "p", "", 1)])
        return engine.descriptions[0].info.max_pixels

    assert run_scenario(scenario, partial(Breakable, pixels=64)) == 255


def test_a_batch_that_kills_whatever_runs_it_three_times_is_given_up_and_the_next_is_answered(caplog):
    async def scenario(engine):
        with pytest.raises(GenerationError, match="died at every attempt"):
            await engine.run(tasks("die", 1))
        return seeds_of(await engine.run(tasks("p", 2)))

    assert run_scenario(scenario) == [2]
    assert [each.message for each in caplog.records].count("a replica died; it is replaced") == 3


def test_a_cancelled_run_ends_and_its_replica_goes_on(tmp_path):
    async def scenario(engine):
        begun = tmp_path / "begun"
        run = asyncio.create_task(engine.run(tasks(f"wait {begun}", 1)))
        while not begun.exists():
            await asyncio.sleep(0.01)
        pids = replicas_alive()
        run.cancel()
        (outcome,) = await asyncio.gather(run, return_exceptions=True)
        assert isinstance(outcome, asyncio.CancelledError)
        assert seeds_of(await engine.run(tasks("p", 3))) == [3]
        return pids == replicas_alive()

    assert run_scenario(scenario)


def test_what_a_model_raises_comes_back_without_its_words():
    async def scenario(engine):
        with pytest.raises(GenerationError) as caught:
            await engine.run(tasks("explode", 1))
        return str(caught.value), seeds_of(await engine.run(tasks("p", 4)))

    message, seeds = run_scenario(scenario)
    assert "RuntimeError" in message
    assert "SECRET" not in message
    assert seeds == [4]


def test_a_model_that_cannot_be_loaded_ends_every_process():
    with pytest.raises(ModelLoadError, match="no such model"):
        run_scenario(lambda engine: None, unloadable, replicas=2)


def test_batches_run_on_two_devices_at_once_and_one_that_fails_leaves_the_other():
    async def scenario():
        loads = [partial(ModelCache, [partial(Breakable, shade)]) for shade in (10, 20)]
        engine = await processes.opening(loads, 0.0)()
        try:
            run = [engine.run(tasks("p", 1)) for _ in range(2)]
            both = await asyncio.gather(*run)
            before = replicas_alive()
            with pytest.raises(GenerationError, match="died at every attempt"):
                await engine.run(tasks("break", 2))
            again = await asyncio.gather(*(engine.run(tasks("p", 1)) for _ in range(2)))
            drawn = [[seed for batch in batches for seed in seeds_of(batch)] for batches in (both, again)]
            return *drawn, len(before & replicas_alive())
        finally:
            await engine.close()

    both, again, kept = asyncio.run(scenario())
    assert sorted(both) == sorted(again) == [10, 20]
    assert kept == 1


@pytest.mark.system
@pytest.mark.parametrize("prompt", ["break once", "hang once"])
def test_a_replica_whose_device_fails_is_replaced_and_its_batch_answered(prompt, tmp_path):
    async def scenario():
        load = partial(ModelCache, [partial(BreakableOnce, str(tmp_path / "failed"))])
        engine = await processes.opening([load], 0.5)()
        try:
            made = await asyncio.wait_for(engine.run(tasks(prompt, 0, 1)), 60)
            return [each.image.getpixel((0, 0))[1] for each in made]
        finally:
            await engine.close()

    assert asyncio.run(scenario()) == [0, 1]
    assert (tmp_path / "failed").exists()


class BreakableOnce(Breakable):
    """Its first process's device fails."""

    def __init__(self, file):
        super().__init__()
        self.file = file

    def create(self, tasks, is_cancelled=lambda: False):
        if not Path(self.file).exists() and "once" in tasks[0].prompt:
            Path(self.file).touch()
            if "hang" in tasks[0].prompt:
                is_cancelled()
                time.sleep(600)
            self.device.broken = True
        return super().create(tasks, is_cancelled)


@pytest.mark.system
def test_a_replica_that_cannot_be_replaced_ends_the_engine(tmp_path):
    async def scenario():
        engine = await processes.opening([partial(load_once, str(tmp_path / "loaded"))], 0.0)()
        try:
            with pytest.raises(EngineLostError, match="could not be replaced"):
                await engine.run(tasks("break", 0))
        finally:
            await engine.close()

    asyncio.run(scenario())


def load_once(file):
    """Load, but for the first time alone: the device is gone for every process."""
    if Path(file).exists():
        raise ModelLoadError("device cuda is not available")
    Path(file).touch()
    return ModelCache([Breakable])
