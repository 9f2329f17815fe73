"""Threads or processes: three ways to use the cores are tried, and the simplest that is fast enough is advised."""

import asyncio
import json

import pytest

from pcevolve_server import benching, capacity, models
from pcevolve_server.capacity import Capacity, Figure
from pcevolve_server.engines import choice
from pcevolve_server.errors import ModelLoadError, SettingsError
from pcevolve_server.models import Offer
from pcevolve_server.settings import EngineKind, ModelSettings, Settings
from support.served import FakeGenerator

ONE, ALL, SEVERAL = "--threads 1", "--threads 8", "--engine processes --replicas 4 --threads 2"

ON_PROCESSOR = Settings(model=ModelSettings(device="cpu"))


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(choice, "cores", lambda: 8)


def compared(*speeds):
    lone, varied = Figure("text-to-image", 1, 0.5, 2.0), Figure("image-to-image", 16, 1.0, 9.0)
    made = [(lone, Figure("text-to-image", 16, 1.0, speed), varied) for speed in speeds]
    return benching.Compared({
        flags: Capacity("m", "64 x 64", 4, 1.0, 0.6, 1, figures)
        for flags, figures in zip((ONE, ALL, SEVERAL), made, strict=True)
    })  # fmt: skip


def test_one_thread_all_of_them_and_several_processes_are_tried(eight_cores):
    ways = {way.flags: way.settings for way in benching.ways(Settings(max_batch=3))}
    assert list(ways) == [ONE, ALL, SEVERAL]
    assert [each.model.threads for each in ways.values()] == [1, 8, 2]
    assert [each.engine for each in ways.values()] == [
        EngineKind.THREAD,
        EngineKind.THREAD,
        EngineKind.PROCESSES,
    ]
    assert ways[SEVERAL].replicas == 4
    assert {each.max_batch for each in ways.values()} == {3}


def test_one_core_leaves_one_way(monkeypatch):
    monkeypatch.setattr(choice, "cores", lambda: 1)
    assert [way.flags for way in benching.ways(Settings())] == [ONE]


@pytest.mark.parametrize(
    "chosen",
    [{"engine": EngineKind.PROCESSES}, {"model": ModelSettings(threads=2)}],
)
def test_what_was_chosen_already_is_not_compared(eight_cores, chosen):
    with pytest.raises(SettingsError, match="--compare tries --engine, --replicas and --threads itself"):
        benching.ways(Settings(**chosen))


@pytest.mark.parametrize(
    ("speeds", "advised"),
    [
        ((60.0, 45.0, 113.0), SEVERAL),
        ((60.0, 100.0, 105.0), ALL),
        ((60.0, 65.0, 62.0), ONE),  # a few per cent are not worth another copy of the weights
    ],
)
def test_the_simplest_way_wins_unless_another_is_clearly_faster(speeds, advised):
    found = compared(*speeds)
    assert found.advised == advised
    assert found.as_text().splitlines()[-1] == f"Serve it with: {advised}"
    assert json.loads(json.dumps(found.as_json()))["advised"] == advised


def test_a_way_that_failed_is_told_with_its_reason_and_not_advised():
    found = benching.Compared(compared(60.0, 45.0, 113.0).capacities, {"--threads 9": "out of memory"})
    assert found.as_text().splitlines()[-2] == "--threads 9 failed: out of memory"
    assert found.as_json()["failed"] == {"--threads 9": "out of memory"}


@pytest.fixture
def opened(eight_cores, monkeypatch):
    """Has chosen ways fail to open; the others stay for a hundredth of a second."""
    monkeypatch.setattr(capacity, "_SECONDS", 0.01)

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

    replicas, offers = 1, (Offer(FakeGenerator().info, 2, False),)

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


def test_what_fails_in_the_simplest_way_fails(opened):
    opened(EngineKind.THREAD)
    with pytest.raises(ModelLoadError, match="no memory"):
        benching.run(ON_PROCESSOR, as_json=True, compare=True)


def test_on_a_gpu_there_is_nothing_to_compare(opened, monkeypatch):
    opened()
    monkeypatch.setattr(models, "on_processor", lambda model: False)
    with pytest.raises(SettingsError, match="--compare tries ways to use a processor's cores"):
        benching.run(Settings(), as_json=True, compare=True)


def test_the_table_has_a_line_for_each_way():
    lines = compared(60.0, 45.0, 113.0).as_text().splitlines()
    assert lines[0] == "m: 64 x 64 pixels, 4 steps, guidance 1, variations at strength 0.6"
    assert [line.split()[-3:] for line in lines[2:5]] == [
        ["0.5", "60", "9"],
        ["0.5", "45", "9"],
        ["0.5", "113", "9"],
    ]


def test_only_lone_images_and_full_runs_are_timed_in_a_comparison():
    class Served:
        offers = (Offer(FakeGenerator().info, 16, False),)

    sizes = capacity._sizes(Served(), Settings(), ends=True)
    assert sizes == [1, 16]
