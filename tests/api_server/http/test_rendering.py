"""From pictures to the JSON of an answer."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from pcevolve_server.errors import ContentRejectedError, GenerationError
from pcevolve_server.http.rendering import native, render
from pcevolve_server.work import Picture
from pcevolve_shared import images, limits, wire
from pcevolve_shared.wire import TextToImageRequest

RED = Image.new("RGB", (8, 8), (255, 0, 0))


def rendered(*pictures: Picture, **fields: object):
    body = TextToImageRequest(prompt="a cat", **fields)
    return render(body, range(7, 7 + len(pictures)), pictures, native)


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp"])
def test_an_image_is_of_the_kind_that_was_asked_for(kind):
    answer = wire.ImageResponse.model_validate_json(rendered(Picture(RED), output_format=kind).body)
    data = images.from_base64(answer.image)
    assert images.media_type(data) == f"image/{kind}"
    assert images.decode(data).getpixel((4, 4))[0] > 250
    assert (answer.seed, answer.cost) == (7, 0.0)


def test_a_single_image_stands_alone_and_several_in_a_list_with_a_gap_for_what_is_refused():
    alone, several = (
        json.loads(rendered(*made).body) for made in ([Picture(RED)], [Picture(RED), Picture(None)])
    )
    assert alone.keys() == {"image", "seed", "cost"}
    assert [(each["seed"], each["image"] is None) for each in several["images"]] == [(7, False), (8, True)]


def test_what_was_cut_of_the_longest_prompt_is_told():
    assert rendered(Picture(RED, cut_tokens=2), Picture(RED, cut_tokens=5)).cut_tokens == 5


@pytest.mark.parametrize(("count", "what"), [(1, "the image and"), (2, "all images and")])
def test_nothing_but_refused_images_is_an_error_that_says_what_helps(count, what):
    with pytest.raises(ContentRejectedError, match=f"refused {what} every retry.*--safety-checker off"):
        rendered(*[Picture(None, refused=3)] * count)


def test_an_image_beyond_the_contract_is_an_error_of_its_own(monkeypatch):
    size = len(images.encode(RED, "png", fast=True))
    monkeypatch.setattr(limits, "MAX_IMAGE_BYTES", size)
    assert rendered(Picture(RED)).body
    monkeypatch.setattr(limits, "MAX_IMAGE_BYTES", size - 1)
    with pytest.raises(GenerationError, match="larger than the contract allows") as failed:
        rendered(Picture(RED))
    assert failed.value.code == "image_too_large"
