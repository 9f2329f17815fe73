"""Handwritten digits and blood cells as private data, and how sources are written on the command line."""

import numpy as np

from pcevolve.keeper.private.bundled import load_cells, load_digits
from pcevolve.public.config.data_source import CELLS

TYPES = {3: "type A", 5: "type B", 8: "type C"}


def test_shots_are_private_and_the_rest_is_held_out():
    private, held_out = load_digits(10, TYPES)
    assert private.labels == held_out.labels == ("type A", "type B", "type C")
    assert np.bincount(private.targets).tolist() == [10, 10, 10]
    assert np.bincount(held_out.targets).tolist() == [173, 172, 164]
    assert len(set(private.digests) | set(held_out.digests)) == 539


def test_fifty_different_cells_of_each_kind_ten_of_them_private():
    private, held_out = load_cells(10, dict(zip(CELLS, "dcba", strict=True)), seed=1)
    assert private.labels == held_out.labels == ("a", "b", "c", "d")
    assert np.bincount(private.targets).tolist() == [10] * 4
    assert np.bincount(held_out.targets).tolist() == [40] * 4
    assert len(set(private.digests) | set(held_out.digests)) == 200
    assert {image.size for image in private.items} == {(64, 64)}
