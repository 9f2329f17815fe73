"""Types of what the suite's fixtures give."""

from __future__ import annotations

from collections.abc import Callable

from leaks.world import World

Count = Callable[[str, bool], None]
"""Counts one attempt of a family as refused, or as escaped."""
WorldAt = Callable[[str, str, str], World]
"""A run at a moment, spoken in a dialect, and what goes back in it."""
