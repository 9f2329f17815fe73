"""Every kind of model that people bring, tiny and random, through the server's own loading: what holds for all."""

import base64
import io
import threading

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.diffusion import generator as generators
from pcevolve_server.diffusion import traits
from pcevolve_server.errors import AbandonedError
from pcevolve_shared import images
from support.drawing import noise_image, pixels, tasks
from support.model_zoo import EDITS, ZOO
from support.tiny_model import load
from support.zoo_drawing import RECIPE, create, vary

pytestmark = [pytest.mark.models, pytest.mark.usefixtures("small_references")]

KINDS = ["sd15", *ZOO]
WITHOUT_NEGATIVE = ["lcm", "flux-dev", "flux-schnell"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_creates_and_varies_at_the_asked_size_by_prompt_seed_and_image(loaded, kind):
    generator = loaded(kind)
    first, second = create(generator, 1, 2)
    assert first.shape == (48, 32, 3)
    assert (first != second).any()
    assert (create(generator, 1, prompt="dog")[0] != first).any()
    mine, other = (vary(generator, 0.6, 5, image=image)[0] for image in (1, 2))
    assert mine.shape == (48, 32, 3)
    assert (mine != other).any()
    assert (vary(generator, 0.6, 5, image=1, prompt="dog")[0] != mine).any()


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_does_not_depend_on_its_companions_or_its_place(loaded, kind):
    generator = loaded(kind)
    assert (create(generator, 3, 4)[0] == create(generator, 8, 3)[1]).all()
    mine = vary(generator, 0.6, 3, 4)[0]
    both = [
        tasks(RECIPE, seed, image=noise_image(image, 32, 48), strength=0.6)[0]
        for seed, image in ((8, 9), (3, 0))
    ]
    assert (pixels(generator.vary(both))[1] == mine).all()


@pytest.mark.parametrize("kind", KINDS)
def test_strength_zero_returns_the_input_and_one_the_creation(loaded, kind):
    generator = loaded(kind)
    assert (vary(generator, 0.0, 5)[0] == np.asarray(noise_image(0, 32, 48))).all()
    assert (vary(generator, 1.0, 5) == create(generator, 5)).all()


@pytest.mark.parametrize("steps", [1, 2, 3, 50])
@pytest.mark.parametrize("strength", [0.001, 0.02, 0.5, 0.999])
def test_every_strength_runs_at_every_number_of_steps(generator, strength, steps):
    assert vary(generator, strength, 5, steps=steps).shape == (1, 48, 32, 3)


@pytest.mark.parametrize("kind", ["sd21", "sdxl", "lcm", "sd3"])
def test_runs_are_shared_where_there_is_one_text_encoder_and_nothing_else_to_prepare(zoo, kind):
    generator = load(model=str(zoo(kind)), device="cpu", threads=1)
    assert (generator.bit_exact_batch_size > 1) == (kind == "sd21")


def post(client, path, **fields):
    return client.post(
        f"/v1/stable-diffusion/{path}", json={"prompt": "a cat", "steps": 2, "seed": 7} | fields
    )


def receive(answer):
    assert answer.status_code == 200, answer.text
    return Image.open(io.BytesIO(base64.b64decode(answer.json()["image"])))


@pytest.fixture
def source():
    """An image as a request has it."""
    sent = io.BytesIO()
    noise_image(0, 32, 48).save(sent, "PNG")
    return base64.b64encode(sent.getvalue()).decode()


@pytest.mark.parametrize("kind", ["sdxl", "lcm", "sd3", "flux-dev"])
def test_over_http_each_answers_in_its_sizes_and_refuses_what_it_cannot_do(loaded, serve, source, kind):
    with serve(loaded(kind)) as client:
        listed = client.get("/v1/models").json()["data"][0]
        assert listed.get("negative_prompts", True) == (kind not in WITHOUT_NEGATIVE)
        assert receive(post(client, "text-to-image", width=32, height=48)).size == (32, 48)
        near, far = (
            receive(post(client, "image-to-image", image=source, strength=strength))
            for strength in (0.60, 0.62)
        )
        assert near.size == (32, 48)
        assert near.tobytes() != far.tobytes()
        refused = post(client, "text-to-image", width=32, height=32, negative_prompt="dog")
        assert refused.status_code == (422 if kind in WITHOUT_NEGATIVE else 200)
        if kind in WITHOUT_NEGATIVE:
            assert "negative_prompt: this model reads no negative prompt; leave it out" in refused.text
        if not listed["schedulers"]:
            answer = post(client, "text-to-image", width=32, height=32, scheduler="ddim")
            assert (answer.status_code, "this model has none to choose" in answer.text) == (422, True)


@pytest.mark.parametrize("kind", EDITS)
def test_an_editing_model_creates_and_varies_to_its_own_degree_at_the_asked_size(loaded, kind):
    generator = loaded(kind)
    assert (generator.info.strengths, generator.info.adapters) == (False, ())
    first, second = create(generator, 1, 2)
    assert first.shape == (48, 32, 3)
    assert (first != second).any()
    assert (create(generator, 1, prompt="dog")[0] != first).any()
    mine, other = (vary(generator, 1.0, 5, image=image)[0] for image in (1, 2))
    assert mine.shape == (48, 32, 3)
    assert (mine != other).any(), "the image is not looked at"
    assert (vary(generator, 1.0, 5, image=1, prompt="dog")[0] != mine).any()
    assert (vary(generator, 0.3, 5, image=1)[0] == mine).all(), "there is a strength"
    both = [
        tasks(RECIPE, seed, image=noise_image(image, 32, 48), strength=1.0)[0]
        for seed, image in ((8, 9), (5, 1))
    ]
    assert np.abs(pixels(generator.vary(both))[1] - mine).mean() < 1


def test_over_http_an_editing_model_says_that_it_takes_no_strength_and_refuses_one(loaded, serve, source):
    with serve(loaded("kontext")) as client:
        (listed,) = client.get("/v1/models").json()["data"]
        assert listed["strengths"] is False
        assert receive(post(client, "image-to-image", image=source)).size == (32, 48)
        refused = post(client, "image-to-image", image=source, strength=0.5)
        assert (refused.status_code, "leave strength out" in refused.text) == (422, True)


@pytest.mark.parametrize("kind", ["sd15", "sd3", "flux-dev"])
def test_a_run_that_nobody_waits_for_ends_within_a_step_and_the_next_one_runs(loaded, kind):
    """A step of large images takes minutes on a processor, and others would wait for its end."""
    generator, asked, done = loaded(kind), [], []
    hook = traits.denoiser(generator.text_to_image).register_forward_hook(lambda *_: done.append(True))

    def is_cancelled():
        asked.append(True)
        return len(asked) > 3

    try:
        with pytest.raises(AbandonedError):
            generator.create(tasks(RECIPE, 1, steps=9), is_cancelled)
        assert len(done) < 2
        assert create(generator, 1, steps=2).shape[0] == 1
        assert len(done) > 1
    finally:
        hook.remove()


@pytest.mark.parametrize("kind", ["sd15", "flux-dev"])
def test_the_model_s_thread_draws_and_neither_makes_images_of_pixels_nor_files_of_images(
    loaded, serve, monkeypatch, kind
):
    """The next run would wait for it."""
    places = []

    def watch(owner, name):
        work = getattr(owner, name)

        def watched(*positional, **named):
            places.append((name, threading.current_thread().name.partition("_")[0]))
            return work(*positional, **named)

        monkeypatch.setattr(owner, name, watched)

    watch(loaded(kind).text_to_image.vae, "decode")
    watch(Image, "fromarray")
    watch(images, "encode")
    with serve(loaded(kind)) as client:
        answer = post(client, "text-to-image", width=256, height=256, steps=1, n=2)
    assert answer.status_code == 200
    assert {name for name, thread in places if thread == "model"} == {"decode"}
    assert [name for name, thread in places if thread != "model"] == ["fromarray", "encode"] * 2


def test_the_tokens_of_a_prompt_are_counted_once_a_run(generator, monkeypatch):
    counted = []
    monkeypatch.setattr(generators, "cut_tokens", lambda _, prompt: counted.append(prompt) or 3)
    made = generator.create(tasks(RECIPE, 1, 2, 3) + tasks(RECIPE, 4, prompt="dog"))
    assert [each.cut_tokens for each in made] == [3] * 4
    assert sorted(counted) == ["a cat", "dog"]
