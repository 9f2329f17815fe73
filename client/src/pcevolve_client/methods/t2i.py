"""Text-to-image only (baseline B of the paper): the prompt's images, as they come."""

from __future__ import annotations

from ..budget.mechanisms import UniformChoice
from .method import Method

METHOD = Method(
    name="t2i",
    summary="text-to-image only: no evolution, private data never looked at",
    guarantee="0-DP: nothing depends on the private data, under either neighbour relation",
    mechanism=UniformChoice,
    utility=None,
    iterations=0,
    needs=frozenset({"create"}),
)
