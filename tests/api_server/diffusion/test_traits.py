"""What a pipeline takes and what suits it."""

from __future__ import annotations

import pytest

from pcevolve_server.diffusion import traits
from pcevolve_server.model_settings import Batching, ModelSettings
from support.tiny_model import load
from support.zoo_drawing import create, vary

pytestmark = [pytest.mark.models, pytest.mark.usefixtures("small_references")]


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


def test_only_the_bundled_model_has_known_domains(generator):
    """A client warns of other domains of the bundled model, and may not claim that any other model is so narrow."""
    asked = ModelSettings(), ModelSettings(model="maker/other")
    bundled, other = (
        traits.describe(each, generator.text_to_image, None, generator.scheduler).domains for each in asked
    )
    assert "blood smear" in bundled
    assert other == ()
