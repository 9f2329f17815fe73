"""What a device's failure means for a request, a batch, the engine and the process: memory, a lost context, a hang."""

import asyncio
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from starlette.testclient import TestClient

from pcevolve_server import faults
from pcevolve_server.engines import processes, thread
from pcevolve_server.errors import EngineLostError, MemoryExceededError, ModelLoadError
from pcevolve_server.http.app import create_app
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelCache
from pcevolve_server.settings import Settings
from pcevolve_server.work import Recipe, Task
from pcevolve_shared import wire
from support.painters import Breakable, Device, GpuPainter
from support.served import read_refusal, serve_app, wait_until


@pytest.mark.parametrize(
    ("error", "memory", "lost"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True, False),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"),
            True,
            False,
        ),
        (
            RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
            True,
            False,
        ),
        (RuntimeError("MPS backend out of memory (MPS allocated: 9.07 GB)"), True, False),
        (MemoryError(), True, False),
        (torch.AcceleratorError("CUDA error: device-side assert triggered"), False, True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False, True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"), False, True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`"), False, True),
        (RuntimeError("HIP error: unspecified launch failure"), False, True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"), False, False),
        (ValueError("CUDA error: only a word in somebody's message"), False, False),
    ],
)
def test_errors_of_memory_and_of_a_device_that_is_lost_are_told_from_any_other(error, memory, lost):
    assert (faults.is_out_of_memory(error), faults.is_device_lost(error)) == (memory, lost)


def tasks(count, side=8, prompt="p"):
    return [Task(Recipe(side, side), prompt, "", seed) for seed in range(count)]


def seeds_of(pictures):
    return [picture.image.getpixel((0, 0))[1] for picture in pictures]


def test_a_batch_that_does_not_fit_runs_in_halves_and_later_ones_are_no_larger(caplog):
    painter = GpuPainter(Device(pixels=5 * 64))
    cache = ModelCache([lambda: painter])
    assert seeds_of(cache.run(tasks(16))) == list(range(16))
    assert [len(batch) for batch in painter.batches] == [4] * 4
    assert seeds_of(cache.run(tasks(6))) == list(range(6))
    assert [len(batch) for batch in painter.batches[4:]] == [4, 2]
    assert seeds_of(cache.run(tasks(2, side=16))) == [0, 1]
    assert [len(batch) for batch in painter.batches[6:]] == [1, 1]
    assert cache.descriptions[0].info.batch_pixels == 4 * 64
    assert [each.images for each in caplog.records if "memory did not suffice" in each.message] == [16, 8]


def test_memory_is_given_back_before_a_batch_is_tried_again():
    device, given_back = Device(pixels=64), []
    cache = ModelCache([lambda: GpuPainter(device)], tidy=lambda: given_back.append(True))
    cache.run(tasks(2))
    assert given_back == [True]


def test_one_image_that_does_not_fit_is_an_error_of_its_own_and_refused_from_then_on():
    with serve_app(ModelCache([lambda: GpuPainter(Device(pixels=5 * 64))])) as client:
        ask = {"prompt": "p", "width": 32, "height": 32}
        for _ in range(2):
            refusal = client.post(wire.TEXT_TO_IMAGE, json=ask)
            assert "ask for at most 1023 pixels" in read_refusal(refusal, 422, "device_memory")
        assert "Retry-After" not in refusal.headers
        assert (
            client.post(wire.TEXT_TO_IMAGE, json={"prompt": "p", "width": 16, "height": 16}).status_code
            == 200
        )
        assert client.get(wire.READY).status_code == 200
        (info,) = client.get(wire.MODELS).json()["data"]
    assert info["max_pixels"] == 1023


def test_an_image_too_large_in_a_batch_of_strangers_fails_none_of_them():
    cache = ModelCache([lambda: GpuPainter(Device(pixels=64))])
    with pytest.raises(MemoryExceededError):
        cache.run(tasks(3, side=16))
    assert seeds_of(cache.run(tasks(3))) == [0, 1, 2]


def opened(device, failures, **settings):
    """A client of an app whose model is on a device; why it failed is noted."""
    opening = thread.opening(
        lambda: ModelCache([lambda: GpuPainter(device)]), settings.pop("stall_seconds", 0)
    )
    app = create_app(Settings(**settings), opening, failures.append)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("prompt", "said"), [("break", "the device failed"), ("hang", "did nothing for 0.3 s")]
)
def test_a_device_that_fails_or_hangs_ends_the_server_and_whoever_waits_is_told(prompt, said):
    """As it was, every request was answered 500 and /readyz 200, for ever."""
    failures = []
    with opened(Device(), failures, stall_seconds=0.3) as client:
        wait_until(lambda: client.get(wire.READY).status_code == 200)
        refusal = client.post(wire.TEXT_TO_IMAGE, json={"prompt": prompt})
        read_refusal(refusal, 503, "failed")
        assert "Retry-After" not in refusal.headers
        assert client.get(wire.READY).json() == {"status": "failed"}
        read_refusal(client.post(wire.TEXT_TO_IMAGE, json={"prompt": "p"}), 503, "failed")
        assert "pcevolve_ready 0.0" in client.get(wire.METRICS).text
    (failure,) = failures
    assert isinstance(failure, EngineLostError)
    assert said in str(failure)


def test_a_run_that_is_slow_but_alive_does_not_hang():
    async def scenario():
        engine = await thread.opening(lambda: ModelCache([lambda: Slow(Device())]), 0.2)()
        try:
            return seeds_of(await engine.run(tasks(1)))
        finally:
            await engine.close()

    assert asyncio.run(scenario()) == [0]


class Slow(GpuPainter):
    def create(self, tasks, is_cancelled=lambda: False):
        for _ in range(20):
            time.sleep(0.04)
            is_cancelled()
        return super().create(tasks, is_cancelled)


def test_a_hang_is_noticed_although_its_caller_has_hung_up():
    async def scenario():
        engine = await thread.opening(lambda: ModelCache([lambda: GpuPainter(Device())]), 0.3)()
        run = asyncio.create_task(engine.run(tasks(1, prompt="hang")))
        await asyncio.sleep(0.1)
        run.cancel()
        (outcome,) = await asyncio.gather(run, return_exceptions=True)
        await engine.close()
        return outcome

    assert isinstance(asyncio.run(scenario()), EngineLostError)


@pytest.mark.system
@pytest.mark.parametrize("prompt", ["break once", "hang once"])
def test_a_replica_whose_device_fails_is_replaced_and_its_batch_answered(prompt, tmp_path):
    async def scenario():
        load = partial(ModelCache, [partial(BreakableOnce, str(tmp_path / "failed"))])
        engine = await processes.opening([load], 0.5)()
        try:
            return seeds_of(await engine.run(tasks(2, prompt=prompt)))
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
                self.device.hangs.set()
            self.device.broken = True
        return super().create(tasks, is_cancelled)


@pytest.mark.system
def test_a_replica_that_cannot_be_replaced_ends_the_engine(tmp_path):
    async def scenario():
        engine = await processes.opening([partial(load_once, str(tmp_path / "loaded"))])()
        try:
            with pytest.raises(EngineLostError, match="could not be replaced"):
                await engine.run(tasks(1, prompt="break"))
        finally:
            await engine.close()

    asyncio.run(scenario())


def load_once(file):
    """Load, but for the first time alone: the device is gone for every process."""
    if Path(file).exists():
        raise ModelLoadError("device cuda is not available")
    Path(file).touch()
    return ModelCache([Breakable])


def test_rays_health_check_tells_of_a_lost_device_and_the_batch_goes_elsewhere():
    pytest.importorskip("ray", reason="needs pcevolve-server[ray]")
    from pcevolve_server.engines.cluster import deployment

    wanted = deployment.Wanted((ModelSettings(),))
    replica = deployment.ServedReplica(wanted, lambda _: ModelCache([lambda: GpuPainter(Device())]))
    replica.check_health()
    outcome = asyncio.run(replica.run(tasks(1, prompt="break")))
    assert isinstance(outcome, EngineLostError)
    with pytest.raises(EngineLostError, match="the device failed"):
        replica.check_health()
