"""A picture is the same to the bit whoever else asks: companions, places and batch sizes do not show."""

import dataclasses

import numpy as np
import pytest
import torch
from PIL import Image

from pcevolve_server.diffusion import batch_invariant
from pcevolve_server.diffusion.batch_invariant import IMAGES, PADDED, BatchInvariant
from pcevolve_server.errors import AbandonedError
from pcevolve_server.model_settings import Batching, Precision
from pcevolve_server.work import Recipe, Task, generate
from support.tiny_model import load

pytestmark = pytest.mark.models

RECIPE = Recipe(width=64, height=64, steps=3, guidance=5.0)
PROMPTS = ("A handwritten digit image with digit 3", "A steel surface image with scratches", "")
WAYS = {
    "creations": ({}, 1),
    "creations in two threads": ({}, 2),
    "unguided creations": ({"guidance": 1.0}, 1),
    "variations": ({"strength": 0.6}, 2),
    "other sizes": ({"width": 72, "height": 40}, 1),
}
"""What is asked for, and in how many threads."""


@pytest.fixture(scope="module", params=[Precision.FLOAT32, Precision.BFLOAT16])
def bundled(request):
    return load(model="bundled", device="cpu", precision=request.param)


@pytest.fixture(params=WAYS)
def changes(request):
    asked, threads = WAYS[request.param]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    yield asked
    torch.set_num_threads(before)


def task(number, **changes):
    recipe = dataclasses.replace(RECIPE, **changes)
    image = picture(number % 3) if recipe.strength else None
    return Task(recipe, PROMPTS[number % 3], "blurred" if number % 2 else "", number, image)


def picture(number):
    pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((64, 64))


def draw(generator, tasks):
    return [made.image.tobytes() for made in generate(generator, tasks)]


def test_a_picture_has_the_same_bits_alone_and_at_every_place_of_a_batch(bundled, changes):
    # The second where the processor's sizes do not agree.
    assert bundled.bit_exact_batch_size in (IMAGES, PADDED)
    tasks = [task(number, steps=1, **changes) for number in range(13)]  # one step shows it as well as three
    together = draw(bundled, tasks)
    assert len(set(together)) == len(tasks)
    assert draw(bundled, tasks[::-1]) == together[::-1]
    for few in (1, 5):
        assert draw(bundled, tasks[-few:]) == together[-few:]


def test_without_fixed_sizes_companions_show():
    loose = load(model="bundled", device="cpu", precision=Precision.FLOAT32, batching=Batching.MERGE)
    assert loose.bit_exact_batch_size == 1
    assert not loose.fixed_cost_batches
    tasks = [task(number) for number in range(IMAGES)]
    assert any(draw(loose, [each]) != [one] for each, one in zip(tasks, draw(loose, tasks), strict=True))


def test_a_product_of_few_rows_in_bfloat16_is_that_of_many():
    """Of this size one value in 200,000 showed otherwise."""
    layer, random = torch.nn.Linear(16, 16).bfloat16(), torch.Generator().manual_seed(1)
    batch_invariant._fix_kernels(layer)
    rows = torch.randn(2**17, 16, generator=random).bfloat16()
    with torch.inference_mode():
        assert torch.equal(torch.cat([layer(few) for few in rows.split(16)]), layer(rows))


def test_a_wide_product_in_bfloat16_has_the_bits_of_any_number_of_rows():
    """Kernels for matrix units divided its sums by the number of rows, which showed in one value of 8,000."""
    layer, random = torch.nn.Linear(512, 1024).bfloat16(), torch.Generator().manual_seed(3)
    batch_invariant._fix_kernels(layer)
    rows = torch.randn(1024, 512, generator=random).bfloat16()
    with torch.inference_mode():
        whole = layer(rows)
        assert all(
            torch.equal(layer(rows[:few]), whole[:few]) for few in (16, 48, 64, 96, 128, 256, 384, 512)
        )


def noting(shapes, forward):
    """A network that notes the shape of what it is given at each step."""

    def note_shape(sample, *positional, **named):
        shapes.append(tuple(sample.shape))
        return forward(sample, *positional, **named)

    return note_shape


def test_a_run_ends_after_the_step_at_which_nobody_wants_it(monkeypatch):
    generator = load(model="bundled", device="cpu")
    steps = []
    unet = generator.text_to_image.unet
    monkeypatch.setattr(unet, "forward", noting(steps, unet.forward))
    with pytest.raises(AbandonedError):
        generate(generator, [task(0, steps=9)], lambda *_: len(steps) == 2)
    assert len(steps) == 2


def test_the_usual_shape_is_compiled_before_the_model_is_ready_and_no_other(tiny_model, monkeypatch):
    shapes = []
    monkeypatch.setattr(torch, "compile", lambda forward, dynamic: noting(shapes, forward))
    generator = load(model=str(tiny_model), compiled=True)
    assert set(shapes) == {(2 * PADDED, 4, 8, 8)}
    assert (generator.bit_exact_batch_size, generator.fixed_cost_batches) == (PADDED, True)
    shapes.clear()
    size = dataclasses.asdict(RECIPE) | generator.info.base_resolution.model_dump()
    generate(generator, [dataclasses.replace(task(1), recipe=Recipe(**size | {"scheduler": "ddim"}))])
    assert shapes == [(2 * PADDED, 4, 8, 8)] * RECIPE.steps
    shapes.clear()
    generate(generator, [task(1, width=40, height=40), task(2, width=40, height=40)])
    generate(generator, [dataclasses.replace(task(1), recipe=Recipe(**size | {"guidance": 1.0}))])
    assert not shapes


class Network:
    """Answers row by row, but for batches of some sizes, whose sums round otherwise; keeps the sizes."""

    def __init__(self, *rounding):
        self.rounding, self.sizes = rounding, []

    def __call__(self, sample, timestep, *, return_dict, named):
        self.sizes.append(len(sample))
        answer = sample * named["scale"][0] + timestep
        return (torch.nextafter(answer, torch.tensor(9e9)) if len(sample) in self.rounding else answer,)


def answered(network, rows, guided=False):
    """Let a network answer for so many rows once it was tried; the sizes of its batches then."""
    wrapped = BatchInvariant(network)
    wrapped.guided = guided
    sample, scale = torch.rand(rows, 4, 2, 2), torch.rand(rows, 1, 1, 1)
    for _ in range(2):
        network.sizes.clear()
        (found,) = wrapped(sample, torch.tensor(3), return_dict=False, named={"scale": [scale]})
    assert torch.equal(found, sample * scale + 3)
    assert torch.equal(wrapped(sample, torch.tensor(3), named={"scale": [scale]}).sample, found)
    return network.sizes[: len(network.sizes) // 2], wrapped.padded


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [(1, [1]), (3, [4]), (5, [4, 1]), (9, [8, 1]), (13, [16]), (32, [32]), (70, [32, 32, 8])],
)
def test_a_batch_is_cut_where_sizes_agree_and_hardly_padded(rows, sizes):
    assert answered(Network(), rows) == (sizes, False)


def test_a_guided_image_takes_two_rows_of_every_size():
    assert answered(Network(), 2, guided=True) == ([2], False)
    assert answered(Network(), 70, guided=True) == ([64, 8], False)


@pytest.mark.parametrize(
    ("rounding", "rows", "sizes"), [((1,), 1, [2]), ((1, 2, 8), 5, [4]), ((1, 2, 4, 8, 16), 1, [16])]
)
def test_sizes_that_round_otherwise_are_not_used_and_a_lone_image_is_padded(rounding, rows, sizes):
    network = Network(*rounding)
    found = BatchInvariant(network)
    sample, scale = torch.rand(rows, 4, 2, 2), torch.rand(rows, 1, 1, 1)
    found.guided = False
    found(sample, torch.tensor(3), named={"scale": [scale]})
    assert network.sizes[-1:] == sizes
    assert found.padded


def test_larger_images_share_no_run():
    invariant = BatchInvariant(Network())
    assert invariant.images(16, 16) == IMAGES
    assert [invariant.images(side, side) for side in (32, 64, 128)] == [8, 2, 1]


def test_without_the_kernels_a_lone_image_rounds_otherwise_and_the_proof_notices(monkeypatch):
    monkeypatch.setattr(batch_invariant, "_fix_kernels", lambda network: None)
    plain = load(model="bundled", device="cpu", precision=Precision.FLOAT32, threads=1)
    tasks = [task(number, guidance=1.0) for number in range(3)]
    assert draw(plain, tasks[:1]) == draw(plain, tasks)[:1]
    assert plain.fixed_cost_batches
