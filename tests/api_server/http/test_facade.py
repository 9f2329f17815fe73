"""The OpenAI facade: the same work, limits and errors as the native routes; and OpenAI's own client, unchanged."""

import base64
import io

import openai
import pytest
from PIL import Image

from pcevolve_server.errors import InvalidRequestError
from pcevolve_server.http import facade
from pcevolve_shared import images, limits, wire
from support.served import FakeGenerator, read_refusal, serve_app

ASK = {"model": "fake", "prompt": "a cat", "seed": 7}
EXTENDED = {"num_inference_steps": 9, "guidance_scale": 3.5, "negative_prompt": "blur"}
PNG = images.encode(Image.new("RGB", (64, 32), (9, 8, 7)))
FIRST = b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nfake\r\n'


def edit(client, image=PNG, **fields):
    files = {"image": ("x.png", image, "image/png")}
    return client.post(wire.OPENAI_EDITS, data={**ASK, **fields}, files=files)


def test_the_same_request_gives_the_same_images_on_both_apis(client):
    native = client.post(
        wire.TEXT_TO_IMAGE, json=ASK | {"n": 2, "width": 16, "height": 24, "steps": 9, "guidance": 3.5}
    ).json()
    facade = client.post(wire.OPENAI_GENERATIONS, json=ASK | EXTENDED | {"n": 2, "size": "16x24"}).json()
    assert [each["b64_json"] for each in facade["data"]] == [each["image"] for each in native["images"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": "huge"}, "size: must be WIDTHxHEIGHT"),
        ({"size": "17x24"}, "size: Input should be a multiple of 8"),
        ({"response_format": "gif"}, "response_format: Input should be 'b64_json'"),
        ({"num_inference_steps": 0}, "num_inference_steps: Input should be greater"),
        ({"qualities": "SECRET"}, "qualities: Extra inputs are not permitted"),
        ({"strength": 0.5}, "strength: Extra inputs are not permitted"),
        ({"size": "4096x2048"}, "more than 4194304 pixels"),
    ],
)
def test_invalid_fields_are_named_and_not_echoed(client, change, message):
    response = client.post(wire.OPENAI_GENERATIONS, json=ASK | change)
    assert message in read_refusal(response, 422, "invalid_request")
    assert "SECRET" not in response.text


@pytest.mark.parametrize("image", [b"SECRET", PNG[:40], b""])
def test_an_edit_of_what_is_no_image_is_refused(client, fake, image):
    assert "image" in read_refusal(edit(client, image=image), 422, "invalid_image")
    assert fake.batches == []


@pytest.mark.parametrize("fields", [{"n": "SECRET"}, {"surprise": "SECRET"}, {"prompt": b"SECRET\xff"}])
def test_an_invalid_field_of_a_form_is_named_and_not_echoed(client, fake, fields):
    response = edit(client, **fields)
    assert read_refusal(response, 422, "invalid_request").startswith(
        (*fields, "a field of the form is not UTF-8")
    )
    assert "SECRET" not in response.text
    assert fake.batches == []


def test_an_image_beyond_the_limit_is_refused_before_it_is_decoded(client):
    big = PNG + b"\0" * limits.MAX_IMAGE_BYTES
    assert "image: more than" in read_refusal(edit(client, image=big), 422, "invalid_image")


def test_the_fields_of_a_form_are_bounded_apart_from_its_image(client):
    message = read_refusal(
        edit(client, negative_prompt="x" * limits.MAX_FIELDS_BYTES), 413, "request_too_large"
    )
    assert "65536 bytes apart from the image" in message
    assert (
        edit(client, image=images.encode(Image.effect_noise((512, 512), 90).convert("RGB"))).status_code
        == 200
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--b",
        FIRST,
        FIRST[:-2] + b"--b--",
        b"preamble\r\n" + FIRST + b"--b--\r\n",
        FIRST + FIRST + b"--b--\r\n",
        b"--b\r\n\r\nno head\r\n--b--\r\n",
        b'--b\r\nContent-Disposition: form-data; name="../x"\r\n\r\n1\r\n--b--\r\n',
        b"--b\r\nX: " + b"y" * 4096 + b'\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n',
        b"".join(FIRST.replace(b"model", b"m%d" % k) for k in range(40)) + b"--b--\r\n",
    ],
)
def test_a_form_that_is_not_whole_and_plain_is_refused(body):
    with pytest.raises(InvalidRequestError, match=r"form|part|twice"):
        facade.parse_form("multipart/form-data; boundary=b", body)


@pytest.fixture
def openais():
    with serve_app(FakeGenerator()) as http:
        yield openai.OpenAI(
            base_url="http://127.0.0.1/v1", api_key="any key does where none is asked for", http_client=http
        )


@pytest.mark.parametrize("more", [{"stream": True}, {"stream": True, "partial_images": 2}])
def test_whoever_wants_images_in_a_stream_is_told_that_there_is_none(openais, more):
    with pytest.raises(openai.UnprocessableEntityError, match="leave out stream and partial_images"):
        openais.images.generate(prompt="a cat", **more)
    with pytest.raises(openai.UnprocessableEntityError, match="leave out stream and partial_images"):
        openais.images.edit(prompt="a cat", image=("cat.png", png()), **more)


def test_a_stream_that_is_declined_is_none(openais):
    made = openais.images.generate(prompt="a cat", stream=False, size="48x32")
    edited = openais.images.edit(prompt="a cat", image=("cat.png", png()), stream=False)
    assert [image.size for image in open_images(made) + open_images(edited)] == [(48, 32), (40, 24)]


def open_images(answer):
    return [Image.open(io.BytesIO(base64.b64decode(each.b64_json))) for each in answer.data]


def png(size=(40, 24)):
    buffer = io.BytesIO()
    Image.new("RGB", size, "red").save(buffer, "PNG")
    return buffer.getvalue()


def test_images_are_generated(openais):
    made = openais.images.generate(model="maker/fake", prompt="a cat", n=2, size="48x32")
    assert [image.size for image in open_images(made)] == [(48, 32), (48, 32)]


def test_images_are_edited(openais):
    (image,) = open_images(
        openais.images.edit(image=("cat.png", png()), prompt="a cat", size="auto", quality="low")
    )
    assert image.size == (40, 24)
    (image,) = open_images(openais.images.edit(image=[("cat.png", png())], prompt="a cat"))
    assert image.size == (40, 24)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"image": ("cat.png", png()), "mask": ("mask.png", png())}, "leave out the mask"),
        ({"image": [("a.png", png()), ("b.png", png())]}, "image: given twice"),
        ({"image": ("cat.png", png()), "size": "64x64"}, "size of the image"),
        ({"image": ("cat.png", b"no image")}, "image"),
    ],
)
def test_edits_that_cannot_be_done_are_refused_with_the_reason(openais, more, complaint):
    with pytest.raises(openai.UnprocessableEntityError, match=complaint):
        openais.images.edit(prompt="a cat", **more)
