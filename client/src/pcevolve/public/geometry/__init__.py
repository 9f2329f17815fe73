"""Geometry of embeddings: distances, nearest candidates, clusters, public frames, rounding to meaningful digits.

No module of this package draws noise or handles methods. A result computed from private points is private until
a mechanism has drawn from it.
"""
