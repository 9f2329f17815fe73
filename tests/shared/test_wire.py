"""The contract refuses what it does not know; both sides rely on it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pcevolve_shared import wire

ASK = {"model": "bundled", "prompt": "a leather surface"}
PIXELS = {"image": "QUJD"}
REQUESTS = [
    (wire.TextToImageRequest, ASK),
    (wire.ImageToImageRequest, ASK | PIXELS),
    (wire.IpAdapterRequest, ASK | PIXELS | {"adapter": "ip"}),
]
INFO = {
    "id": "a/b",
    "name": "b",
    "family": "stable-diffusion",
    "pipelines": ["text-to-image"],
    "base_resolution": {"width": 64, "height": 64},
}
ANSWERS = [
    (wire.ImageResponse, PIXELS | {"seed": 1, "cost": 0}),
    (wire.BatchResponse, {"images": [PIXELS | {"seed": 1}], "cost": 0.5}),
    (wire.ModelInfo, INFO),
    (wire.BalanceResponse, {"balance": None}),
    (
        wire.ErrorResponse,
        {"error": {"type": "server_error", "code": "x", "message": "m", "request_id": "r1"}},
    ),
]
MESSAGES = REQUESTS + ANSWERS


@pytest.mark.parametrize(("kind", "fields"), MESSAGES)
def test_each_message_survives_the_wire(kind, fields):
    message = kind.model_validate_json(json.dumps(fields))
    assert kind.model_validate_json(message.model_dump_json()) == message


@pytest.mark.parametrize(("kind", "fields"), MESSAGES)
def test_unknown_fields_are_refused(kind, fields):
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        kind.model_validate_json(json.dumps(fields | {"surprise": 1}))


@pytest.mark.parametrize(("kind", "fields"), MESSAGES)
def test_messages_are_frozen(kind, fields):
    message = kind.model_validate_json(json.dumps(fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(message, next(iter(fields)), None)


@pytest.mark.parametrize(("kind", "fields"), REQUESTS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", 0),
        ("steps", 151),
        ("steps", "50"),
        ("steps", 5.5),
        ("steps", True),
        ("guidance", -1),
        ("guidance", 50.1),
        ("model", "x" * 257),
        ("scheduler", "x" * 257),
        ("guidance", "7.5"),
        ("seed", -1),
        ("seed", 2**32),
        ("seed", 1.5),
        ("n", 0),
        ("n", 65),
        ("prompt", "x" * 2049),
        ("prompt", None),
        ("prompt", 5),
        ("model", ""),
        ("output_format", "gif"),
        ("response_format", "gif"),
        ("scheduler", ""),
    ],
)
def test_values_out_of_bounds_or_of_another_type_are_refused(kind, fields, field, value):
    with pytest.raises(ValidationError, match=f"1 validation error for .*\n{field}"):
        kind.model_validate_json(json.dumps(fields | {field: value}))


def test_the_largest_request_of_all_is_taken():
    most = {
        "steps": 150,
        "guidance": 50,
        "seed": 2**32 - 1,
        "n": 64,
        "prompt": "x" * 2048,
        "model": "x" * 256,
    }
    asked = wire.TextToImageRequest.model_validate_json(json.dumps(most | {"width": 4096, "height": 8}))
    assert (asked.steps, asked.n, asked.width, asked.height) == (150, 64, 4096, 8)
    assert wire.TextToImageRequest.model_validate_json('{"prompt": "", "steps": 1.0}').steps == 1


def test_what_a_request_leaves_out_is_asked_for_as_getimg_does():
    plain = wire.IpAdapterRequest.model_validate_json(json.dumps(PIXELS | {"prompt": "", "adapter": "a"}))
    assert (plain.steps, plain.guidance, plain.n, plain.strength, plain.scale) == (50, 7.5, 1, 1.0, None)
    varied = wire.ImageToImageRequest.model_validate_json(json.dumps(PIXELS | {"prompt": ""}))
    assert (varied.strength, varied.seed, varied.output_format) == (0.5, None, "png")
    created = wire.TextToImageRequest.model_validate_json('{"prompt": ""}')
    assert (created.width, created.height) == (512, 512)


def test_a_description_leaves_out_what_older_servers_do_not_have():
    said = json.loads(wire.ModelInfo.model_validate_json(json.dumps(INFO)).model_dump_json())
    assert not {
        "exact",
        "library",
        "recommended",
        "negative_prompts",
        "strengths",
        "max_pixels",
        "domains",
    } & set(said)
    assert (said["created"], said["max_images"], said["size_multiple"]) == (0, 1, 8)
    text = wire.ModelInfo.model_validate_json(
        json.dumps({**INFO, "base_resolution": None, "strengths": False})
    )
    assert '"strengths":false' in text.model_dump_json()
    with pytest.raises(ValueError, match="a/b makes no images"):
        _ = text.size


@pytest.mark.parametrize("size", [0, 7, 65, 4104, "64", 64.5])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(ValidationError, match="width"):
        wire.TextToImageRequest.model_validate_json(json.dumps(ASK | {"width": size}))


@pytest.mark.parametrize("strength", [-0.01, 1.01, "0.5", None])
def test_impossible_strengths_are_refused(strength):
    with pytest.raises(ValidationError, match="strength"):
        wire.ImageToImageRequest.model_validate_json(json.dumps(ASK | PIXELS | {"strength": strength}))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (wire.TextToImageRequest, '{"model":"a","prompt":"b","guidance":%s}'),
        (wire.ImageResponse, '{"image":"QUJD","seed":1,"cost":%s}'),
        (wire.BalanceResponse, '{"balance":%s}'),
    ],
)
def test_numbers_that_are_not_finite_are_refused(kind, text, number):
    with pytest.raises(ValidationError, match="finite number"):
        kind.model_validate_json(text % number)


def test_a_batch_is_bounded_and_never_empty():
    image = PIXELS | {"seed": 0}
    for images in ([], [image] * 65):
        with pytest.raises(ValidationError, match="images"):
            wire.BatchResponse.model_validate_json(json.dumps({"images": images, "cost": 0}))


def test_an_image_longer_than_the_limit_is_refused():
    text = json.dumps({"image": "A" * (22_369_624 + 4), "seed": 0, "cost": 0})
    with pytest.raises(ValidationError, match="at most"):
        wire.ImageResponse.model_validate_json(text)


def test_errors_about_a_message_do_not_quote_it():
    with pytest.raises(ValidationError) as caught:
        wire.ImageResponse.model_validate_json('{"image": "SECRET", "seed": "SECRET", "cost": 0}')
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(("kind", "fields"), [*REQUESTS[1:], *ANSWERS[:2]])
def test_a_repr_holds_no_image(kind, fields):
    assert "QUJD" not in repr(kind.model_validate_json(json.dumps(fields)))


@given(st.integers(0, 2**32 - 1), st.integers(0, 63))
def test_seeds_of_a_batch_stay_in_range_and_differ(seed, index):
    assert wire.seed_of(seed, index) == (seed + index) % 2**32
