"""JSON bodies: bounded before they are parsed, and a long image is cut out."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve_server.errors import InvalidRequestError, TooLargeError
from pcevolve_server.http.json_bodies import parse
from pcevolve_shared import limits

LONG = "QUJD" * (limits.MAX_FIELDS_BYTES // 2)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.floats(allow_nan=False), st.text()
)
OBJECTS = st.dictionaries(st.text(), SCALARS, max_size=10)


@given(OBJECTS, st.booleans())
def test_a_flat_object_is_what_a_parser_says_it_is(fields, ascii_only):
    assert parse(json.dumps(fields, ensure_ascii=ascii_only).encode()) == fields


@given(OBJECTS, OBJECTS, st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]))
def test_a_long_image_is_cut_out_and_put_back(before, after, separators):
    fields = {**before, "image": LONG, **after}
    fields["image"] = LONG
    assert parse(json.dumps(fields, separators=separators).encode()) == fields


@given(st.text(alphabet='"\\:,{}[] image'))
def test_words_in_a_prompt_are_no_structure(prompt):
    fields = {"prompt": '\\"image": "' * 3 + "{[,:" * 100 + prompt, "image": LONG}
    assert parse(json.dumps(fields).encode()) == fields


def test_fields_of_exactly_64_kib_are_read_and_one_byte_more_is_not():
    body = b'{"prompt": "' + b"x" * (65536 - 14) + b'"}'
    assert len(parse(body)["prompt"]) == 65522
    with pytest.raises(TooLargeError, match="longer than 65536 bytes"):
        parse(body + b" ")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16", "utf-32"])
def test_other_encodings_are_refused(encoding):
    # A quote's byte is also part of other letters, such as the first of "\u0122".
    text = '{"prompt":"\u0122","x":' + "[" * 5000 + "]" * 5000 + "}"
    with pytest.raises(InvalidRequestError, match=r"not UTF-8|not JSON"):
        parse(text.encode(encoding))
    with pytest.raises(InvalidRequestError, match=r"not UTF-8|not JSON"):
        parse('{"prompt": "p"}'.encode(encoding))
    assert parse('{"prompt": "p"}'.encode("utf-8-sig")) == {"prompt": "p"}


@pytest.mark.parametrize(
    ("character", "spelled"),
    [("/", r"\/"), ("/", r"\u002f"), ("+", r"\u002B"), ("=", r"\u003d"), ("=", r"\u003D")],
)
def test_an_image_may_spell_base64_as_careful_encoders_do(character, spelled):
    body = b'{"image": "' + (LONG + spelled).encode() + b'", "n": 1}'
    assert parse(body) == {"image": LONG + character, "n": 1} == json.loads(body)


def test_other_escapes_in_a_long_image_are_left_for_its_own_check_to_refuse():
    assert parse(b'{"image": "' + LONG.encode() + b'\\u0041"}')["image"] == LONG + "\\u0041"


@pytest.mark.parametrize(
    "body",
    [
        b'{"prompt": "' + LONG.encode() + b'"}',
        b'{"prompt": "' + b"x" * limits.MAX_FIELDS_BYTES + b'", "image": "' + LONG.encode() + b'"}',
        b'{"image": "' + LONG.encode() + b'", "image": "' + LONG.encode() + b'"}',
        b'{"image": "' + LONG.encode(),
        b'{"\\u0069mage": "' + LONG.encode() + b'"}',
        b" " * (limits.MAX_FIELDS_BYTES + 1),
    ],
)
def test_more_than_64_kib_apart_from_one_image_is_refused(body):
    with pytest.raises(TooLargeError, match="longer than 65536 bytes apart from the image"):
        parse(body)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("[" * 50_000, "not readable JSON"),
        ('{"a":' * 9_000, "not readable JSON"),
        ('{"a": 1', r"not JSON \(at character 7"),
        ("1" * 5000, "not readable JSON"),
    ],
)
def test_what_is_no_json_or_nested_without_end_is_refused(body, complaint):
    with pytest.raises(InvalidRequestError, match=complaint):
        parse(body.encode())


@pytest.mark.parametrize("image", ["\xe9" * 4, "\U0001f600"])
def test_a_long_image_that_is_not_ascii_is_named(image):
    with pytest.raises(InvalidRequestError, match="image: not base64"):
        parse(b'{"image": "' + (LONG + image).encode() + b'"}')


@given(st.binary(max_size=200), st.sampled_from([b"", b'{"image":"' + LONG.encode(), LONG.encode()]))
def test_no_bytes_raise_anything_but_a_refusal(noise, start):
    with contextlib.suppress(InvalidRequestError, TooLargeError):
        parse(start + noise)


@pytest.mark.parametrize(
    "unit", [b'"', b"\\", b'\\"', b'"image"', b'"image":', b'"image": ', b'\\"image":"', b"{", b'":"', b"1e"]
)
def test_no_repetition_takes_more_than_a_moment(unit):
    begun = time.process_time()
    for size in (limits.MAX_FIELDS_BYTES, limits.MAX_REQUEST_BYTES):
        with pytest.raises((InvalidRequestError, TooLargeError)):
            parse(b'{"prompt": "' + unit * (size // len(unit) - 20))
    assert time.process_time() - begun < 2
