"""The page about a run that is under way, made anew from its record whenever that has grown.

May import what ``pages`` may. May be imported by ``session``.
"""

from __future__ import annotations

from pcevolve.pages.live.page import Standing, rendered_live

__all__ = ["Standing", "rendered_live"]
