"""Geometry of embeddings: distances, nearest candidates, clusters, public frames, rounding to meaningful digits.

Nothing here draws noise or knows methods. A result computed from private points is private until a mechanism
has drawn from it.
"""
