"""What a device's failure means for a request, a batch, the engine and the process: memory, a lost context, a hang."""

import pytest
import torch

from pcevolve_server import faults, models
from pcevolve_server.errors import MemoryExceededError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelCache, ModelDescription
from pcevolve_server.work import Recipe, Task, TextRecipe, TextTask
from pcevolve_shared import wire
from support.painters import Device, GpuPainter, GpuWriter
from support.served import read_refusal, serve_app


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
    assert [each.images for each in caplog.records if "too little memory" in each.message] == [16, 8]


def test_exact_is_withdrawn_where_requests_are_cut_otherwise_than_before(monkeypatch):
    device = Device()
    monkeypatch.setattr(models, "load", lambda settings, stopping: GpuPainter(device))
    with serve_app(ModelCache([models.TriedLoad(ModelSettings())])) as client:
        for pixels, exact in ((10**6, "alone"), (5 * 64, "no")):
            device.pixels = pixels
            client.post(wire.TEXT_TO_IMAGE, json={"prompt": "p", "width": 8, "height": 8, "n": 16})
            assert client.get(wire.MODELS).json()["data"][0]["exact"] == exact
            told = [line for line in client.get(wire.METRICS).text.splitlines() if "pcevolve_exact{" in line]
            assert told == [f'pcevolve_exact{{exact="{exact}",model="painter"}} 1.0']


def test_texts_that_do_not_fit_together_are_written_in_halves_and_one_that_does_not_is_refused():
    device = Device(pixels=3)
    writer = GpuWriter(device)
    cache = ModelCache([lambda: writer])
    texts = [TextTask(TextRecipe(), (("user", "p"),), seed) for seed in range(16)]
    for _ in range(2):
        assert [each.text for each in cache.run(texts)] == [str(seed) for seed in range(16)]
    assert writer.batches == [2] * 16
    assert cache.descriptions[0].info == writer.info
    device.pixels = 0
    with pytest.raises(MemoryExceededError, match="too little memory for this text"):
        cache.run(texts)


def test_several_devices_promise_no_more_than_the_one_that_promises_least():
    info = GpuPainter(Device()).info
    told = [ModelDescription(info.model_copy(update={"exact": each}), 1, False) for each in ("alone", "no")]
    assert [ModelDescription.of_all(order).info.exact for order in (told, told[::-1])] == ["no", "no"]


def test_memory_is_given_back_before_a_batch_is_tried_again():
    device, given_back = Device(pixels=64), []
    cache = ModelCache([lambda: GpuPainter(device)], tidy=lambda: given_back.append(True))
    cache.run(tasks(2))
    assert given_back == [True]


def test_what_was_cut_before_the_memory_was_known_to_be_less_is_served_all_the_same():
    with serve_app(ModelCache([lambda: GpuPainter(Device(pixels=5 * 64))]), deadline_seconds=5) as client:
        asked = client.post(wire.TEXT_TO_IMAGE, json={"prompt": "p", "width": 8, "height": 8, "n": 40})
    assert len(asked.json()["images"]) == 40


def test_one_image_that_does_not_fit_is_an_error_of_its_own_and_refused_from_then_on():
    with serve_app(ModelCache([lambda: GpuPainter(Device(pixels=5 * 64))])) as client:
        ask = {"prompt": "p", "width": 32, "height": 32}
        for _ in range(2):
            refusal = client.post(wire.TEXT_TO_IMAGE, json=ask)
            assert "request at most 1023 pixels" in read_refusal(refusal, 422, "device_memory")
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
