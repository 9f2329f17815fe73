"""The page with what a provider sent first, for a person to look at before anything is spent.

May import what ``pages`` may. May be imported by ``session``.
"""

from __future__ import annotations

from pcevolve.pages.preview.page import opening_images, write_preview

__all__ = ["opening_images", "write_preview"]
