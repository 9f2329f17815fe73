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


def test_models_are_listed_and_retrieved(client):
    (listed,) = client.models.list()
    assert listed.id == "maker/fake"
    assert client.models.retrieve("maker/fake") == client.models.retrieve("fake") == listed
    with pytest.raises(openai.NotFoundError, match="this server has maker/fake"):
        client.models.retrieve("gpt-image-1")


def test_images_are_generated(client):
    made = client.images.generate(model="maker/fake", prompt="a cat", n=2, size="48x32")
    assert [image.size for image in opened(made)] == [(48, 32), (48, 32)]


def test_what_a_client_says_to_openais_models_does_no_harm(client):
    made = client.images.generate(
        prompt="a cat", size="auto", quality="high", background="opaque", moderation="low", user="somebody",
        output_format="webp", response_format="b64_json", style="vivid",
    )  # fmt: skip
    (image,) = opened(made)
    assert (image.format, image.size) == ("WEBP", (64, 32))


def test_images_are_fetched_from_where_the_answer_says(client):
    made = client.images.generate(prompt="a cat", n=2, response_format="url")
    edited = client.images.edit(image=("cat.png", png()), prompt="a cat", response_format="url")
    found = [client._client.get(each.url).content for each in (*made.data, *edited.data)]
    assert [Image.open(io.BytesIO(each)).size for each in found] == [(64, 32), (64, 32), (40, 24)]


@pytest.mark.parametrize(
    "refused", [{"background": "transparent"}, {"response_format": "gif"}, {"stream": True}]
)
def test_what_the_server_cannot_do_is_refused_by_name(client, refused):
    with pytest.raises(openai.UnprocessableEntityError, match=next(iter(refused))):
        client.images.generate(prompt="a cat", **refused)


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


def test_a_wrong_key_is_an_authentication_error():
    from pcevolve_server.keys import Key

    with served(FakeGenerator(), keys=(Key("k" * 16),)) as http:
        client = openai.OpenAI(
            base_url="http://127.0.0.1/v1", api_key="wrong", http_client=http, max_retries=0
        )
        with pytest.raises(openai.AuthenticationError):
            client.models.list()
