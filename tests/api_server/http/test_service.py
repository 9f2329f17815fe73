"""From a request's fields to tasks for the model, and from pictures to the answer."""

from __future__ import annotations

import pytest
from PIL import Image

from pcevolve_server.work import Picture
from pcevolve_shared import images, wire
from support.served import read_refusal

ASK = {"model": "fake", "prompt": "a cat", "seed": 7}


def image_in(text):
    return images.decode(images.from_base64(text))


def test_one_image_answers_as_getimg_does(client):
    answer = wire.ImageResponse.model_validate_json(client.post(wire.TEXT_TO_IMAGE, json=ASK).content)
    assert answer.seed == 7
    assert image_in(answer.image).getpixel((0, 0)) == (7, 0, 7)


SUITS = wire.Recommended(steps=28, guidance=3.5, strength_low=0.3, strength_high=0.9)


@pytest.mark.parametrize(
    ("recommended", "settings", "expected"),
    [
        (None, {}, (50, 7.5)),  # the papers'
        (None, {"default_steps": 9, "default_guidance": 3.5}, (9, 3.5)),
        (SUITS, {}, (28, 3.5)),
        (SUITS, {"default_steps": 6}, (6, 3.5)),
        (SUITS, {"default_guidance": 0}, (28, 0)),
    ],
)
def test_absent_steps_and_guidance_are_the_operator_s_or_suit_the_model(
    serve, fake, recommended, settings, expected
):
    fake.info = fake.info.model_copy(update={"recommended": recommended})
    with serve(fake, **settings) as client:
        client.post(wire.TEXT_TO_IMAGE, json=ASK)
    recipe = fake.batches[-1][0].recipe
    assert (recipe.steps, recipe.guidance) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps: Input should be greater than or equal to 1"),
        ({"seed": "7"}, "seed: Input should be a valid integer"),
        ({"output_format": "SECRET"}, "output_format: Input should be 'png', 'jpeg' or 'webp'"),
        ({"surprise": "SECRET"}, "surprise: Extra inputs are not permitted"),
        ({"width": 513}, "width: Input should be a multiple of 8"),
        ({"prompt": None}, "prompt: Input should be a valid string"),
        ({"scheduler": "SECRET"}, "scheduler: this model has ddim"),
        ({"n": 64, "width": 2048, "height": 2048}, "n: too many images of this size"),
        ({"width": 4096, "height": 2048}, "width, height: more than 4194304 pixels"),
    ],
)
def test_invalid_fields_are_named_and_their_values_are_not_echoed(client, change, message):
    response = client.post(wire.TEXT_TO_IMAGE, json=ASK | change)
    assert message in read_refusal(response, 422, "invalid_request")
    assert "SECRET" not in response.text


def test_content_refused_at_every_try_answers_422_and_is_counted(client, fake):
    fake.paint = lambda task: Picture(None, refused=3)
    read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 422, "content_rejected")
    assert "pcevolve_images_rejected_total 3.0" in client.get(wire.METRICS).text


@pytest.mark.parametrize("route", [wire.TEXT_TO_IMAGE, wire.OPENAI_GENERATIONS])
def test_one_image_that_is_refused_leaves_its_place_empty_and_others_theirs(client, fake, route):
    paint = fake.paint
    fake.paint = lambda task: Picture(None, refused=3) if task.seed == 8 else paint(task)
    answer = client.post(route, json={"prompt": "p", "seed": 7, "n": 3}).json()
    made = answer["images"] if "images" in answer else answer["data"]
    name = "image" if "images" in answer else "b64_json"
    assert [each[name] is None for each in made] == [False, True, False]
    if "images" in answer:
        assert [each["seed"] for each in made] == [7, 8, 9]
    assert client.get(wire.BALANCE).json()["images"] == 2


def test_an_image_is_varied_and_not_created_with_its_strength(client, fake):
    fake.vary, fake.create = fake.create, None
    image = images.to_base64(images.encode(Image.new("RGB", (64, 32), (9, 8, 7))))
    answer = client.post(wire.IMAGE_TO_IMAGE, json=ASK | {"image": image, "strength": 0.3})
    assert answer.status_code == 200
    ((task,),) = fake.batches
    assert (task.recipe.strength, task.image.getpixel((0, 0))) == (0.3, (9, 8, 7))


def test_a_model_that_varies_to_a_degree_of_its_own_takes_no_strength(serve, fake):
    fake.info = fake.info.model_copy(update={"strengths": False})
    ask = ASK | {"image": images.to_base64(images.encode(Image.new("RGB", (64, 32))))}
    with serve(fake) as client:
        assert client.post(wire.IMAGE_TO_IMAGE, json=ask).status_code == 200
        refused = client.post(wire.IMAGE_TO_IMAGE, json=ask | {"strength": 0.3})
    assert "leave strength out" in read_refusal(refused, 422, "invalid_request")
    assert fake.batches[0][0].recipe.strength == 1.0


def test_several_images_take_consecutive_seeds(client):
    response = client.post(wire.TEXT_TO_IMAGE, json=ASK | {"n": 3, "seed": 2**32 - 2})
    answer = wire.BatchResponse.model_validate_json(response.content)
    assert [image.seed for image in answer.images] == [2**32 - 2, 2**32 - 1, 0]
    assert [image_in(image.image).getpixel((0, 0))[0] for image in answer.images] == [254, 255, 0]


@pytest.mark.parametrize("change", [{"width": 72}, {"height": 72}])
def test_a_size_that_the_model_cannot_make_is_refused(serve, fake, change):
    fake.info = fake.info.model_copy(update={"size_multiple": 32})
    with serve(fake) as client:
        message = read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK | change), 422, "invalid_request")
    assert "must be multiples of 32" in message
