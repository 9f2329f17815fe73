"""OpenAI's own client, unchanged, against the server."""

import base64
import io

import openai
import pytest
from PIL import Image

from support.served import FakeGenerator, served


@pytest.fixture
def client():
    with served(FakeGenerator()) as http:
        yield openai.OpenAI(
            base_url="http://127.0.0.1/v1", api_key="any key does where none is asked for", http_client=http
        )


def opened(answer):
    return [Image.open(io.BytesIO(base64.b64decode(each.b64_json))) for each in answer.data]


def png(size=(40, 24)):
    buffer = io.BytesIO()
    Image.new("RGB", size, "red").save(buffer, "PNG")
    return buffer.getvalue()


def test_images_are_generated(client):
    made = client.images.generate(model="maker/fake", prompt="a cat", n=2, size="48x32")
    assert [image.size for image in opened(made)] == [(48, 32), (48, 32)]


def test_images_are_fetched_from_where_the_answer_says(client):
    made = client.images.generate(prompt="a cat", n=2, response_format="url")
    edited = client.images.edit(image=("cat.png", png()), prompt="a cat", response_format="url")
    found = [client._client.get(each.url).content for each in (*made.data, *edited.data)]
    assert [Image.open(io.BytesIO(each)).size for each in found] == [(64, 32), (64, 32), (40, 24)]


def test_images_are_edited(client):
    (image,) = opened(
        client.images.edit(image=("cat.png", png()), prompt="a cat", size="auto", quality="low")
    )
    assert image.size == (40, 24)
    (image,) = opened(client.images.edit(image=[("cat.png", png())], prompt="a cat"))
    assert image.size == (40, 24)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"image": ("cat.png", png()), "mask": ("mask.png", png())}, "leave the mask out"),
        ({"image": [("a.png", png()), ("b.png", png())]}, "image: there twice"),
        ({"image": ("cat.png", png()), "size": "64x64"}, "size of the image"),
        ({"image": ("cat.png", b"no image")}, "image"),
    ],
)
def test_edits_that_cannot_be_done_are_refused_with_the_reason(client, more, complaint):
    with pytest.raises(openai.UnprocessableEntityError, match=complaint):
        client.images.edit(prompt="a cat", **more)
