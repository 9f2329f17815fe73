"""Geometry of embeddings: distances and nearest candidates, groups, public coordinates, digits that say something.

Nothing here draws noise or knows methods. What is computed of private points is private until a mechanism has drawn
from it.
"""
