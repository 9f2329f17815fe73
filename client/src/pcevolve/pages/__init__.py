"""What the self-contained pages share: one file each, escaped, with a strict policy and small re-encoded pictures."""

from __future__ import annotations

from pcevolve.pages.rendering import Inline, base_style, inline, own_file, rendered, size
from pcevolve.pages.thumbnails import SIDE, data_uri, jpeg

__all__ = ["SIDE", "Inline", "base_style", "data_uri", "inline", "jpeg", "own_file", "rendered", "size"]
