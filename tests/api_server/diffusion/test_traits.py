"""What a pipeline takes and what suits it."""

from __future__ import annotations

import pytest

from pcevolve_server.model_settings import Batching
from pcevolve_server.work import Recipe
from support.drawing import noise_image, pixels, tasks
from support.tiny_model import load

pytestmark = pytest.mark.models
RECIPE = Recipe(width=32, height=48, steps=4, guidance=3.0)


@pytest.fixture(autouse=True)
def small_references(monkeypatch):
    """Qwen-Image-Edit looks at a megapixel of whatever image it is given: here at a 256th of that."""
    from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit, pipeline_qwenimage_edit_plus

    for module in (pipeline_qwenimage_edit, pipeline_qwenimage_edit_plus):
        whole = module.calculate_dimensions
        monkeypatch.setattr(
            module, "calculate_dimensions", lambda area, ratio, whole=whole: whole(area / 256, ratio)
        )


def create(generator, *seeds, **changes):
    return pixels(generator.create(tasks(RECIPE, *seeds, **changes)))


def vary(generator, strength, *seeds, image=0, **changes):
    start = noise_image(image, RECIPE.width, RECIPE.height)
    return pixels(generator.vary(tasks(RECIPE, *seeds, image=start, strength=strength, **changes)))


@pytest.mark.parametrize("kind", ["qwen", "qwen-edit"])
def test_guidance_and_a_negative_prompt_tell_of_qwen_image_under_whatever_name(loaded, kind):
    generator = loaded(kind)
    plain, stronger, away = (
        vary(generator, 0.6, 5, guidance=guidance, negative=negative)
        for guidance, negative in ((1.0, ""), (4.0, ""), (4.0, "dog"))
    )
    assert (plain != stronger).any()
    assert (stronger != away).any()


def test_a_request_that_names_no_scheduler_gets_the_one_that_is_announced(generator):
    usual = create(generator, 1)
    assert (usual == create(generator, 1, scheduler="dpmpp_2m_karras")).all()
    assert (usual != create(generator, 1, scheduler="pndm")).any()


@pytest.mark.parametrize(("chosen", "same_as", "told"), [("own", "pndm", None), ("ddim", "ddim", "ddim")])
def test_what_the_operator_chooses_comes_before_the_preset(tiny_model, generator, chosen, same_as, told):
    served = load(model=str(tiny_model), threads=1, batching=Batching.MERGE, scheduler=chosen)
    assert served.info.recommended.scheduler == told
    assert (create(served, 1) == create(generator, 1, scheduler=same_as)).all()
