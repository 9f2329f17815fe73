"""Turns a template into a page: every string is escaped, and styles and scripts are allowed by their hash."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from pcevolve.errors import spelled_out
from pcevolve.pages.pictures import shown
from pcevolve.public.modalities import Kind, spoken

BASE_STYLE = "base.css"
PAGE = "page.html.j2"
_NO_WORDS = re.compile(r"({%.*?%}|{{.*?}}|{#.*?#}|<[^>]*>)", re.DOTALL)


@dataclass(frozen=True)
class Inline:
    """A style or script of our own that stands in the page itself.

    Attributes:
        text: The content, which the template must not touch.
        source: How the page's Content-Security-Policy names it.
    """

    text: Markup
    source: str


def inline(*parts: str) -> Inline:
    """Join text of our own; nothing that came from a run may be part of it."""
    text = "\n".join(parts)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Inline(Markup(text), f"'sha256-{digest}'")  # noqa: S704 - our own files


def own_file(package: str, name: str) -> str:
    """Read a file that lies beside the code."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def base_style() -> str:
    """Colours, type, tables and banners of all pages, light and dark."""
    return own_file(__package__, BASE_STYLE)


@cache
def compiled(package: str, kind: Kind = "image", **filters: Callable[..., Any]) -> Template:
    """The template of a package's page, with the filters that it uses; every string that it puts out is escaped.

    It is compiled on the first call, which takes a fifth of a second.

    Args:
        package: Whose page it is.
        kind: What the page is about; what templates say of images is said of texts where it is about these.
        filters: By name; beside ``shown`` and ``worded``, which is for words of ours.
    """
    environment = Environment(
        loader=FunctionLoader(lambda name: _worded(own_file(package, name), kind)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters.update(filters, shown=shown, worded=lambda said: spoken(said, kind))
    return environment.get_template(PAGE)


def _worded(template: str, kind: Kind) -> str:
    """A template with the words for a kind; tags and what Jinja reads stay as they are."""
    parts = _NO_WORDS.split(template)
    return "".join(part if place % 2 else spoken(part, kind) for place, part in enumerate(parts))


def size(count: float) -> str:
    """Write a number of bytes for people."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def _visible(value: Any) -> Any:  # noqa: ANN401 - whatever a template puts out
    """Spell out what cannot be seen and could mislead."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return spelled_out(value)
