"""Bodies as the viewer spells them: every field as it left, whatever its shape."""

from __future__ import annotations

import pytest

from pcevolve.pages.wire.folding import MOST_CHARACTERS, fields


def test_numbers_keep_their_spelling_and_names_that_occur_twice_are_both_shown():
    shown, more = fields(
        '{"seed":1e400,"a":0.10,"a":123456789012345678901234567890,"b":[],"c":{},"d":null,"e":true}'
    )
    assert [(each.name, each.parts[0].text) for each in shown] == [
        ("seed", "1e400"),
        ("a", "0.10"),
        ("a", "123456789012345678901234567890"),
        ("b", "[]"),
        ("c", "{}"),
        ("d", "null"),
        ("e", "true"),
    ]
    assert more == 0


def test_images_stand_where_they_stood():
    digest = "ab" * 32
    (field, form), _ = fields(f'{{"image":"data:image/png;base64,{{{{sha256:{digest}}}}}","n":1}}')
    assert [(each.text, each.image) for each in field.parts] == [
        ("data:image/png;base64,", None),
        ("", digest),
    ]
    assert form.parts[0].text == "1"


def test_a_form_is_shown_part_by_part_under_its_heads():
    digest = "ab" * 32
    part = "Content-Disposition: form-data; name="
    text = (
        f'--xyz\r\n{part}"prompt"\r\n\r\na mark\r\n'
        f'--xyz\r\n{part}"image"; filename="a.png"\r\nX-Odd: 1\r\n\r\n{{{{raw-sha256:{digest}}}}}\r\n--xyz--\r\n'
    )
    prompt, image = fields(text)[0]
    assert (prompt.name, prompt.parts[0].text) == (f'{part}"prompt"', "a mark")
    assert image.name == f'{part}"image"; filename="a.png"; X-Odd: 1'
    assert image.parts[0].image == digest


@pytest.mark.parametrize("text", ["plain", "[" * 100_000, "--xyz\r\nno blank line\r\n--xyz--\r\n", '{"a":'])
def test_a_body_of_no_known_shape_is_shown_whole_and_what_is_left_out_is_counted(text: str):
    (field,), more = fields(text)
    assert more == 0
    assert field.parts[0].text == text[:MOST_CHARACTERS]
    assert field.parts[0].left_out == max(0, len(text) - MOST_CHARACTERS)
