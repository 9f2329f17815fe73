"""Every kind of model that people bring, tiny and random, through the server's own loading: what holds for all."""

import base64
import dataclasses
import functools
import io
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from pcevolve_server.errors import InvalidRequestError, ModelLoadError
from pcevolve_server.settings import Precision
from pcevolve_server.work import Recipe, Task
from support.model_zoo import ZOO, without_variations
from support.tiny_model import PROMPT_TOKENS, load, save_adapter

pytestmark = pytest.mark.models

KINDS = ["sd15", *ZOO]
FAMILIES = {
    "sd15": "stable-diffusion",
    "sd21": "stable-diffusion",
    "sd-turbo": "stable-diffusion",
    "sdxl": "stable-diffusion-xl",
    "sdxl-turbo": "stable-diffusion-xl",
    "lcm": "lcm",
    "sd3": "stable-diffusion-3",
    "flux-dev": "flux",
    "flux-schnell": "flux",
}
FLOWS = ["sd3", "flux-dev", "flux-schnell"]
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


def apart(one, other):
    return np.abs(one - other).mean()


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_told_apart_and_says_how_it_is_best_asked(loaded, kind):
    info = loaded(kind).info
    assert (info.id, info.family) == ("tiny" if kind == "sd15" else kind, FAMILIES[kind])
    assert info.pipelines == ("text-to-image", "image-to-image")
    assert info.recommended.steps == {"lcm": 4, "sdxl": 30}.get(
        kind, 25 if kind in ("sd15", "sd21") else 28 if kind in ("sd3", "flux-dev") else 4
    )
    assert bool(info.schedulers) == (kind not in [*FLOWS, "lcm"])


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
@pytest.mark.parametrize("steps", [4, 10])
def test_strengths_two_hundredths_apart_differ_at_few_steps(loaded, kind, steps):
    near, far = (varied(loaded(kind), strength, steps=steps) for strength in (0.60, 0.62))
    assert apart(near, far) > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_strength_zero_returns_the_input_and_one_the_creation(loaded, kind):
    generator = loaded(kind)
    assert (varied(generator, 0.0)[0] == np.asarray(noise_image())).all()
    assert (varied(generator, 1.0) == created(generator, 5)).all()


@pytest.mark.parametrize("kind", FLOWS)
def test_near_its_ends_a_flow_is_near_the_decoded_input_and_forgets_it(loaded, kind):
    generator = loaded(kind)
    assert apart(varied(generator, 0.001, steps=10), reconstruction(generator)) < 1
    weak, strong = (
        apart(*(varied(generator, strength, image=noise_image(seed), steps=10) for seed in (1, 2)))
        for strength in (0.2, 0.999)
    )
    assert strong < weak / 5


def reconstruction(generator):
    """What the autoencoder makes of the input, under the draw of seed 5; float ``(1, 48, 32, 3)``."""
    pipeline = generator.image_to_image
    image = pipeline.image_processor.preprocess(noise_image())
    with torch.inference_mode():
        latents = pipeline.vae.encode(image).latent_dist.sample(torch.Generator("cpu").manual_seed(5))
        decoded = pipeline.vae.decode(latents).sample
    (made,) = pipeline.image_processor.postprocess(decoded, output_type="np")
    return (made[None] * 255).round()


@pytest.mark.parametrize("kind", KINDS)
def test_a_negative_prompt_tells_or_the_model_says_that_it_reads_none(loaded, kind):
    generator = loaded(kind)
    plain, other = (created(generator, 1, negative=negative) for negative in ("", "dog"))
    assert (plain != other).any() == generator.info.negative_prompts == (kind not in WITHOUT_NEGATIVE)


@pytest.mark.parametrize("kind", KINDS)
def test_guidance_can_be_off_and_its_amount_tells_where_there_is_any(loaded, kind):
    some, more, none = (created(loaded(kind), 1, guidance=amount) for amount in (3.0, 8.0, 0.0))
    assert none.shape == some.shape
    assert (some != more).any() == (kind != "flux-schnell")


@pytest.mark.parametrize("kind", ["sdxl", "lcm", "sd3", "flux-dev"])
def test_a_denoiser_of_any_kind_may_compute_in_bfloat16(zoo, loaded, kind):
    half = load(model=str(zoo(kind)), device="cpu", threads=1, precision=Precision.BFLOAT16)
    assert half.text_to_image.vae.dtype == torch.float32
    for made in (created, functools.partial(varied, strength=0.6)):
        rounded, (whole, other) = made(half, seed=1), (made(loaded(kind), seed=seed) for seed in (1, 2))
        assert 0 < apart(rounded, whole) < apart(other, whole) / 2


@pytest.mark.parametrize("kind", ["sd21", "sdxl", "lcm", "sd3"])
def test_runs_are_shared_where_there_is_one_text_encoder_and_nothing_else_to_prepare(zoo, kind):
    generator = load(model=str(zoo(kind)), device="cpu", threads=1)
    assert (generator.companions > 1) == (kind == "sd21")


@pytest.mark.parametrize(
    ("kind", "read"), [("sdxl", PROMPT_TOKENS), ("lcm", PROMPT_TOKENS), ("sd3", 256), ("flux-dev", 512)]
)
def test_tokens_are_cut_where_the_last_text_encoder_stops_reading(loaded, kind, read):
    marks = 2 if read == PROMPT_TOKENS else 1  # start and end, or the end alone
    each = 1 if read == PROMPT_TOKENS else 2  # a space is a token of T5's
    words = (read - marks) // each
    cut = [
        loaded(kind).create(tasks(1, prompt=" ".join("a" * count), steps=1))[0].cut_tokens
        for count in (words, words + 3)
    ]
    assert cut == [0, words * each + marks + 3 * each - read]


def test_a_consistency_model_takes_no_more_steps_than_it_was_distilled_from(loaded):
    assert created(loaded("lcm"), 1, steps=50).shape == (1, 48, 32, 3)
    with pytest.raises(InvalidRequestError, match="steps: this model takes at most 50"):
        created(loaded("lcm"), 1, steps=51)


@pytest.mark.parametrize("strength", [0.001, 0.04, 0.5])
@pytest.mark.parametrize("kind", ["lcm", "flux-dev"])
def test_a_weak_variation_runs_at_any_number_of_steps(loaded, kind, strength):
    for steps in (1, 3, 50):
        assert varied(loaded(kind), strength, steps=steps).shape == (1, 48, 32, 3)


@pytest.mark.parametrize("kind", [*FLOWS, "lcm"])
def test_another_scheduler_is_refused_where_only_the_models_own_can_run(zoo, kind):
    with pytest.raises(ModelLoadError, match=f"cannot serve .*{kind}: .*runs with its own alone"):
        load(model=str(zoo(kind)), device="cpu", scheduler="ddim")


@pytest.mark.parametrize("kind", FLOWS)
def test_an_adapter_for_unets_is_refused_by_transformers(zoo, kind):
    with pytest.raises(ModelLoadError, match="--ip-adapter is for models with a UNet"):
        load(model=str(zoo(kind)), device="cpu", adapter="any/adapter")


@pytest.mark.parametrize("kind", ["sd21", "sdxl", "sdxl-turbo", "lcm"])
@pytest.mark.parametrize("guidance", [0.0, 3.0])
def test_any_model_with_a_unet_runs_with_an_adapter_at_any_guidance(zoo, loaded, tmp_path, kind, guidance):
    file = save_adapter(tmp_path, loaded(kind).text_to_image.unet)
    adapted = load(model=str(zoo(kind)), device="cpu", threads=1, adapter=str(file))
    without, through = (varied(adapted, 0.8, adapter_scale=scale, guidance=guidance) for scale in (None, 1.0))
    assert apart(without, varied(loaded(kind), 0.8, guidance=guidance)) < 2
    assert apart(without, through) > 2
    (asked,) = tasks(1, guidance=guidance, adapter_scale=1.0)
    arguments = adapted.adapter.arguments(adapted.text_to_image, asked.recipe, noise_image())
    rows = {len(each) for each in arguments["ip_adapter_image_embeds"]}
    assert rows == {2 if guidance > 1 and kind != "lcm" else 1}  # guidance is an input of a consistency model


def test_a_model_that_cannot_vary_images_is_refused_with_its_class(tmp_path):
    without_variations().save_pretrained(tmp_path / "pixart", safe_serialization=True)
    with pytest.raises(ModelLoadError, match=r"cannot serve .*pixart: .*PixArtAlphaPipeline"):
        load(model=str(tmp_path / "pixart"), device="cpu")


def test_an_editing_model_which_knows_no_strength_is_refused(loaded):
    from diffusers import FluxKontextPipeline

    from pcevolve_server.diffusion import traits

    with pytest.raises(ModelLoadError, match="FluxKontextPipeline takes no strength"):
        traits.check(loaded("flux-dev").text_to_image, object.__new__(FluxKontextPipeline))


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


def released(part, factor, packed, sample=None, **config):
    """What a release's sizes are told by."""
    network = SimpleNamespace(config=config if sample is None else config | {"sample_size": sample})
    processor = SimpleNamespace(config=SimpleNamespace(vae_scale_factor=packed))
    fields = {"vae_scale_factor": factor, "image_processor": processor, "default_sample_size": 128}
    return SimpleNamespace(**fields, **{part: network})


@pytest.mark.parametrize(
    ("release", "multiple", "side"),
    [
        (released("unet", 8, 8, sample=64), 8, 512),
        (released("transformer", 8, 8, sample=128, patch_size=2), 16, 1024),
        (released("transformer", 8, 16, patch_size=1), 16, 1024),
    ],
    ids=["SD 1.5", "SD 3", "Flux"],
)
def test_sizes_of_the_releases_are_multiples_of_what_their_models_see_as_one(release, multiple, side):
    from pcevolve_server.diffusion import traits

    assert traits.size_multiple(release) == multiple
    assert traits.base_resolution(release).width == side
