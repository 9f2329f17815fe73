"""Every kind of model that people bring, tiny and random, through the server's own loading: what holds for all."""

import base64
import dataclasses
import io

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.work import Recipe, Task
from support.model_zoo import EDITS, ZOO
from support.tiny_model import load

pytestmark = pytest.mark.models

KINDS = ["sd15", *ZOO]
WITHOUT_NEGATIVE = ["lcm", "flux-dev", "flux-schnell"]
RECIPE = Recipe(width=32, height=48, steps=4, guidance=3.0)


def tasks(*seeds, prompt="a cat", negative="", image=None, **changes):
    recipe = dataclasses.replace(RECIPE, **changes)
    return [Task(recipe, prompt, negative, seed, image) for seed in seeds]


def noise_image(seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (48, 32, 3), dtype=np.uint8))


def pixels(pictures):
    return np.stack([np.asarray(picture.image, dtype=int) for picture in pictures])


def created(generator, *seeds, seed=5, **changes):
    return pixels(generator.create(tasks(*(seeds or (seed,)), **changes)))


def varied(generator, strength, *seeds, seed=5, image=None, **changes):
    start = image or noise_image()
    return pixels(generator.vary(tasks(*(seeds or (seed,)), image=start, strength=strength, **changes)))


@pytest.mark.parametrize("kind", KINDS)
def test_each_creates_and_varies_at_the_asked_size_by_prompt_seed_and_image(loaded, kind):
    generator = loaded(kind)
    first, second = created(generator, 1, 2)
    assert first.shape == (48, 32, 3)
    assert (first != second).any()
    assert (created(generator, 1, prompt="dog")[0] != first).any()
    mine, other = (varied(generator, 0.6, image=noise_image(seed))[0] for seed in (1, 2))
    assert mine.shape == (48, 32, 3)
    assert (mine != other).any()
    assert (varied(generator, 0.6, image=noise_image(1), prompt="dog")[0] != mine).any()


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_does_not_depend_on_its_companions_or_its_place(loaded, kind):
    generator = loaded(kind)
    assert (created(generator, 3, 4)[0] == created(generator, 8, 3)[1]).all()
    mine = varied(generator, 0.6, 3, 4)[0]
    others = tasks(8, image=noise_image(9), strength=0.6) + tasks(3, image=noise_image(), strength=0.6)
    assert (pixels(generator.vary(others))[1] == mine).all()


@pytest.mark.parametrize("kind", KINDS)
def test_strength_zero_returns_the_input_and_one_the_creation(loaded, kind):
    generator = loaded(kind)
    assert (varied(generator, 0.0)[0] == np.asarray(noise_image())).all()
    assert (varied(generator, 1.0) == created(generator, 5)).all()


@pytest.mark.parametrize("kind", ["sd21", "sdxl", "lcm", "sd3"])
def test_runs_are_shared_where_there_is_one_text_encoder_and_nothing_else_to_prepare(zoo, kind):
    generator = load(model=str(zoo(kind)), device="cpu", threads=1)
    assert (generator.companions > 1) == (kind == "sd21")


def posted(client, path, **fields):
    return client.post(
        f"/v1/stable-diffusion/{path}", json={"prompt": "a cat", "steps": 2, "seed": 7} | fields
    )


def received(answer):
    assert answer.status_code == 200, answer.text
    return Image.open(io.BytesIO(base64.b64decode(answer.json()["image"])))


@pytest.mark.parametrize("kind", ["sdxl", "lcm", "sd3", "flux-dev"])
def test_over_http_each_answers_in_its_sizes_and_refuses_what_it_cannot_do(loaded, serve, kind):
    generator = loaded(kind)
    with serve(generator) as client:
        listed = client.get("/v1/models").json()["data"][0]
        assert listed.get("negative_prompts", True) == (kind not in WITHOUT_NEGATIVE)
        image = received(posted(client, "text-to-image", width=32, height=48))
        assert image.size == (32, 48)
        sent = io.BytesIO()
        noise_image().save(sent, "PNG")
        source = base64.b64encode(sent.getvalue()).decode()
        near, far = (
            received(posted(client, "image-to-image", image=source, strength=strength))
            for strength in (0.60, 0.62)
        )
        assert near.size == (32, 48)
        assert near.tobytes() != far.tobytes()
        refused = posted(client, "text-to-image", width=32, height=32, negative_prompt="dog")
        assert refused.status_code == (422 if kind in WITHOUT_NEGATIVE else 200)
        if kind in WITHOUT_NEGATIVE:
            assert "negative_prompt: this model reads none; leave it out" in refused.text
        if not listed["schedulers"]:
            answer = posted(client, "text-to-image", width=32, height=32, scheduler="ddim")
            assert (answer.status_code, "this model has none to choose" in answer.text) == (422, True)


@pytest.mark.parametrize("kind", EDITS)
def test_an_editing_model_creates_and_varies_to_its_own_degree_at_the_asked_size(loaded, kind):
    generator = loaded(kind)
    assert (generator.info.strengths, generator.info.adapters) == (False, ())
    first, second = created(generator, 1, 2)
    assert first.shape == (48, 32, 3)
    assert (first != second).any()
    assert (created(generator, 1, prompt="dog")[0] != first).any()
    mine, other = (varied(generator, 1.0, image=noise_image(seed))[0] for seed in (1, 2))
    assert mine.shape == (48, 32, 3)
    assert (mine != other).any(), "the image is not looked at"
    assert (varied(generator, 1.0, image=noise_image(1), prompt="dog")[0] != mine).any()
    assert (varied(generator, 0.3, image=noise_image(1))[0] == mine).all(), "there is a strength"
    both = tasks(8, image=noise_image(9), strength=1.0) + tasks(5, image=noise_image(1), strength=1.0)
    assert np.abs(pixels(generator.vary(both))[1] - mine).mean() < 1


def test_over_http_an_editing_model_says_that_it_takes_no_strength_and_refuses_one(loaded, serve):
    with serve(loaded("kontext")) as client:
        (listed,) = client.get("/v1/models").json()["data"]
        assert listed["strengths"] is False
        sent = io.BytesIO()
        noise_image().save(sent, "PNG")
        image = base64.b64encode(sent.getvalue()).decode()
        assert received(posted(client, "image-to-image", image=image)).size == (32, 48)
        refused = posted(client, "image-to-image", image=image, strength=0.5)
        assert (refused.status_code, "leave it out" in refused.text) == (422, True)
