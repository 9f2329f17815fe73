"""The public training material: procedurally rendered glyphs, surfaces and everyday items."""

from material.draw import draw
from material.facts import CHARACTERS, DEFECTS, ITEMS, MATERIALS, Facts
from material.prompts import describe

__all__ = ["CHARACTERS", "DEFECTS", "ITEMS", "MATERIALS", "Facts", "describe", "draw"]
