"""Render templates to pages, and the provider's answers to pictures.

Every string is escaped, and styles and scripts are allowed by their hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from pcevolve.errors import spell_out
from pcevolve.public.figures import in_full
from pcevolve.public.media import Item, Look, RenderedImages, find_medium
from pcevolve.public.modality import MODALITIES, Kind

LONGEST = 600
"""Largest number of characters that are shown of a text."""


@dataclass(frozen=True)
class PagePicture:
    """The part of a provider's answer that is shown; empty if the answer is unusable."""

    kind: Kind
    image: str = ""
    text: str = ""

    def __bool__(self) -> bool:
        """True if there is something to show."""
        return bool(self.image or self.text)


def encode_uri(jpeg: bytes) -> str:
    """Encode a picture as a data URI."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")


def make_picture(kind: Kind, data: bytes, wanted: Look | None = None) -> PagePicture:
    """Make a small picture of received bytes, or decode the text that they encode."""
    return _frame(kind, find_medium(kind).show(data, wanted))


def picture_item(kind: Kind, item: Item | None) -> PagePicture:
    """Make a small picture of a decoded image, or take a text. A private item's picture is for its owner alone."""
    found = RenderedImages() if item is None else find_medium(kind).show_decoded(item)
    return _frame(kind, found)


def _frame(kind: Kind, found: RenderedImages) -> PagePicture:
    return PagePicture(kind, image=encode_uri(found.jpeg) if found.jpeg else "", text=shorten(found.text))


def shorten(text: str) -> str:
    """Return a text, cut to ``LONGEST`` characters."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def render_picture(found: PagePicture, title: str, side: int) -> Markup:
    """Return a picture's HTML."""
    if found.image:
        tag = '<img src="{}" width="{}" height="{}" alt="{}">'
        return Markup(tag).format(found.image, side, side, title)  # noqa: S704 - the tag is ours, and all else is escaped
    if found.text:
        return Markup('<span class="said">{}</span>').format(found.text)
    fault = f"not {MODALITIES[found.kind].nouns.an}"
    tag = '<span class="broken" role="img" aria-label="{}: {}">{}</span>'
    return Markup(tag).format(title, fault, fault)  # noqa: S704 - likewise


@dataclass(frozen=True)
class Inline:
    """One of our styles or scripts inside the page; ``source`` is its hash for the Content-Security-Policy."""

    text: Markup
    source: str


def inline_parts(*parts: str) -> Inline:
    """Join our own styles or scripts. No string from a run may be part of them."""
    text = "\n".join(parts)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Inline(Markup(text), f"'sha256-{digest}'")  # noqa: S704 - our own files


def read_own(name: str) -> str:
    """Read a file of this package, such as ``live.css`` or ``report/page.css``."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def read_style() -> str:
    """Read the style sheet of all pages: colours, type, tables and banners, light and dark."""
    return read_own("base.css")


@cache
def compile_page(page: str, kind: Kind = "image", **filters: Callable[..., Any]) -> Template:
    """Return the template of a page with the filters that it uses. Every string that it outputs is escaped.

    The first call compiles the template, which takes a fifth of a second.

    Args:
        page: The template's name in this package, such as ``live`` or ``report/page``.
        kind: The kind of data on the page; the template gets its ``nouns``.
    """
    environment = Environment(
        loader=FunctionLoader(read_own),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.globals["nouns"] = MODALITIES[kind].nouns
    environment.filters.update(filters, shown=render_picture, in_full=in_full)
    return environment.get_template(f"{page}.html.j2")


def _visible(value: Any) -> Any:  # noqa: ANN401 - whatever a template puts out
    """Escape invisible characters, which could mislead a reader."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return spell_out(value)
