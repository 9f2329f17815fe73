"""Several runs beside each other: what each cost, what judges found, and pictures of each, class by class.

What judges found is private; the page is handed it and says so. May import what ``pages`` may. May be imported by
``session``.
"""

from __future__ import annotations

from pcevolve.pages.comparison.page import Column, Curve, Figure, write_comparison

__all__ = ["Column", "Curve", "Figure", "write_comparison"]
