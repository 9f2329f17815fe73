"""What a provider sent is text or a small picture on a page, and never markup."""

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup
from PIL import Image

from pcevolve.public.pages.rendering import (
    compile_page,
    encode_uri,
    inline_parts,
    make_picture,
    picture_item,
    render_picture,
    shorten,
)
from support.provider import png


def test_a_text_is_shown_to_its_600th_character():
    assert shorten("x" * 600) == "x" * 600
    assert shorten("x" * 601) == "x" * 600 + " …"


def test_a_picture_is_an_address_of_itself_and_words_beside_it_are_text():
    found = make_picture("image", png(1))
    assert found
    assert found.image.startswith("data:image/jpeg;base64,/9j/")
    shown = render_picture(found, '<b>"said"', 64)
    assert shown == f'<img src="{found.image}" width="64" height="64" alt="&lt;b&gt;&#34;said&#34;">'
    assert encode_uri(b"ab") == "data:image/jpeg;base64,YWI="


def test_a_text_is_shown_as_text_and_what_is_neither_is_said_to_be_none():
    assert render_picture(make_picture("text", b"<i>a</i> b"), "said", 64).endswith(
        "&lt;i&gt;a&lt;/i&gt; b</span>"
    )
    nothing = make_picture("image", b"no image")
    assert not nothing
    assert render_picture(nothing, "<said>", 64) == (
        '<span class="broken" role="img" aria-label="&lt;said&gt;: not an image">not an image</span>'
    )


def test_parts_of_our_own_are_allowed_by_the_hash_of_what_stands_there():
    inline = inline_parts("a", "b < c")
    assert inline.text == "a\nb < c"
    digest = base64.b64encode(hashlib.sha256(b"a\nb < c").digest()).decode()
    assert inline.source == f"'sha256-{digest}'"


def test_an_item_is_shown_as_what_it_is_and_none_is_nothing():
    assert picture_item("text", "some words").text == "some words"
    assert picture_item("image", Image.new("RGB", (8, 8))).image.startswith("data:image/jpeg;base64,/9j/")
    assert not picture_item("image", None)


def test_what_cannot_be_seen_is_spelled_out_and_markup_of_our_own_stays():
    page = compile_page("useful").environment.from_string("{{ shown }}")
    assert page.render(shown="a\u202eb<") == "a\\u202eb&lt;"
    assert page.render(shown=Markup("<b>\u202e</b>")) == "<b>\u202e</b>"
    assert page.render(shown=3) == "3"
