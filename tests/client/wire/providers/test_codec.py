"""Answers of APIs that a dialect does not speak: told as what they are, and never taken for none."""

from __future__ import annotations

import dataclasses
import email
import gzip
import json
import zlib

import pytest

from pcevolve.errors import ProviderReplyError
from pcevolve.public.answers import has_succeeded
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.codec import encode_form
from support.online import b64
from support.provider import png
from support.runs import small_plan

CREATION = next(call for call in small_plan().calls.values() if call.purpose == "create")
OTHER = "does the API need another --dialect"


def quote_refusal(name: str, body: object, count: int = 1) -> str:
    """Quote the refusal of an answer that is a success and brings nothing."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert has_succeeded(200, sent)
    try:
        made = dialect(name).read_outputs(dataclasses.replace(CREATION, count=count), sent)
    except ProviderReplyError as error:
        return str(error)
    return str(next(each for each in made if not isinstance(each, bytes)))


# Sources: Replicate, HTTP API; fal, Queue; Alibaba Cloud Model Studio, asynchronous tasks; BFL, Flux; Gemini and Imagen
# on Vertex AI; Stability AI v1; Cloudflare Workers AI: their public references.
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"id": "a", "status": "starting", "urls": {"get": "https://x/1"}},
            "fields id, status, urls: " + OTHER,
        ),
        ({"id": "a", "polling_url": "https://x"}, "fields id, polling_url: " + OTHER),
        ({"predictions": [{"bytesBase64Encoded": "x"}]}, "fields predictions: " + OTHER),
        ({"artifacts": [{"base64": "x"}]}, "fields artifacts: " + OTHER),
        ({"result": {"image": "x"}, "success": True, "errors": []}, OTHER),
        (png(1), "an image, which no dialect reads"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "compressed data"),
        (gzip.compress(b"{}", mtime=0), "compressed data"),
        (zlib.compress(b"{}"), "compressed data (gzip or br)"),
        (b"data: {}\n\ndata: [DONE]\n", "a stream of events"),
        (b"<html><title>Welcome</title></html>", "an HTML page"),
        (b"", "nothing where JSON was expected"),
        (b'<?xml version="1.0"?><Made/>', "XML: is --api the address"),
        (b'{"done":false}\n{"done":true}\n', "a stream"),
        (b'"made"', "it is a single value"),
        ({}, "the API's answer breaks the contract"),
        ([], "the API's answer breaks the contract"),
        ({"images": [], "data": []}, "the API"),
        (b"Too many users \x1b[2J today", "the words 'Too many users"),
        ({"\x1b[2J" * 99: 1}, OTHER),
    ],
)
def test_an_answer_of_another_form_is_told_as_what_it_is(body, words):
    for name in ("openai", "getimg", "stability", "siliconflow", "a1111"):
        if (name, words) == ("stability", "fields artifacts: " + OTHER):
            continue
        said = quote_refusal(name, body)
        assert words in said
        assert "\x1b" not in said
        assert len(said) < 400


def test_an_image_under_a_name_that_nobody_reads_is_not_taken_for_one_that_was_withheld():
    for field in ("image", "revised_prompt"):
        assert "neither b64_json nor url" in quote_refusal("openai", {"data": [{field: b64(1)}]})
    assert "not base64" in quote_refusal("openai", {"data": [{"b64_json": b64(1) + "*"}]})
    withheld = json.dumps({"data": [{"b64_json": None}]}).encode()
    assert dialect("openai").decode(dataclasses.replace(CREATION, count=1), withheld) == [b""]


def test_fewer_images_than_were_asked_for_name_the_setting():
    assert "--set provider.batch=1" in quote_refusal("openai", {"data": [{"b64_json": b64(1)}]}, count=2)
    assert "--set provider.batch=1" in quote_refusal("getimg", {"image": b64(1), "seed": 1}, count=2)


def test_of_more_images_than_were_asked_for_the_first_are_taken():
    answer = {"data": [{"b64_json": b64(place)} for place in range(3)]}
    two = dataclasses.replace(CREATION, count=2)
    assert dialect("openai").decode(two, json.dumps(answer).encode()) == [png(0), png(1)]


def remarks(name: str, **choice: object) -> list[str]:
    field = "choices" if name == "chat" else "data"
    body = json.dumps({field: [choice]}).encode()
    return [each.partition(",")[0].partition(" (")[0] for each in dialect(name).remarks("a cat", body)]


# Sources: OpenAI, Images and Chat Completions; Ollama and vLLM, which end a text by "length" too: public references.
@pytest.mark.parametrize(
    ("end", "content", "said"),
    [
        (
            "length",
            "a review of",
            ["texts that were cut off at the allowed length: give more provider.tokens"],
        ),
        (
            "MAX_TOKENS",
            "a review of",
            ["texts that were cut off at the allowed length: give more provider.tokens"],
        ),
        ("length", None, ["no text"]),
        ("length", "<think>long", ["no text"]),
        ("stop", "a review.", []),
        (None, "a review.", []),
    ],
)
def test_texts_that_end_where_the_tokens_do_are_told(end, content, said):
    message = {"content": content, "reasoning_content": "hm"}
    assert remarks("chat", finish_reason=end, message=message) == said


@pytest.mark.parametrize(
    ("revised", "said"),
    [
        ("a tabby in the sun", ["a prompt that the API had rewritten"]),
        ("a cat ", []),
        ("", []),
        (None, []),
    ],
)
@pytest.mark.parametrize("name", ["openai", "openai-plain"])
def test_words_that_the_api_chose_are_told(name, revised, said):
    assert remarks(name, b64_json=b64(1), revised_prompt=revised) == said


def test_an_image_behind_a_link_keeps_its_place_beside_others():
    """One that was withheld, or lies in the answer itself, is no reason to lose one that was fetched."""
    one, other = png(1), png(2)
    items = [{"b64_json": None}, {"url": "https://x/1"}, {"b64_json": b64(2)}, {"url": "https://x/2"}]
    items.append({"url": "data:image/png;base64,AAAA"})
    body = json.dumps({"data": items}).encode()
    call = dataclasses.replace(CREATION, count=5)
    assert dialect("openai").links(call, body) == ("https://x/1", "https://x/2")
    assert dialect("openai").decode(call, body, [one, other]) == [b"", one, png(2), other, b"\0\0\0"]


@pytest.mark.parametrize(
    ("name", "fields", "model"),
    [
        ("chat", {"model": "cheaper"}, "cheaper"),
        ("a1111", {"info": json.dumps({"sd_model_name": "other", "sd_model_hash": "9a"})}, "other [9a]"),
    ],
)
def test_the_model_of_an_answer_with_a_byte_order_mark_is_read(name, fields, model):
    assert dialect(name).answered_by(b"\xef\xbb\xbf" + json.dumps(fields).encode()) == model


def test_more_links_than_images_were_asked_for_are_not_followed():
    body = json.dumps({"data": [{"url": f"https://x/{place}"} for place in range(64)]}).encode()
    assert dialect("openai").links(dataclasses.replace(CREATION, count=2), body) == (
        "https://x/0",
        "https://x/1",
    )


def test_a_form_has_its_fields_in_their_order_and_the_image_last_if_there_is_one():
    for image, names in ((None, ["prompt", "seed"]), (png(1), ["prompt", "seed", "image"])):
        kind, body = encode_form({"prompt": "leather", "seed": "7"}, image)
        parsed = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
        assert [
            part.get_param("name", header="Content-Disposition") for part in parsed.get_payload()
        ] == names
        assert [part.get_payload() for part in parsed.get_payload()[:2]] == ["leather", "7"]
        assert (png(1) in body) == (image is not None)


@pytest.mark.parametrize("body", [b'{"images": ["cut', b'{"a": 1}{"b": 2}'])
def test_a_document_that_is_cut_off_or_spoilt_is_taken_for_no_stream(body: bytes):
    assert "stream" not in quote_refusal("getimg", body)
