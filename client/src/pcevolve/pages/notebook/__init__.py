"""A finished run as a notebook shows it: a fragment of HTML, made from public records alone.

May import what ``pages`` may. May be imported by ``interface``.
"""

from __future__ import annotations

from pcevolve.pages.notebook.page import notebook_view

__all__ = ["notebook_view"]
