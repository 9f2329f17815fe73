"""How distances are compared: in steps whose edges nobody can aim at."""

from __future__ import annotations

import numpy as np

from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.selectors import SelectionInput
from pcevolve.public.selectors.consistency import Drawn


def on_a_line(places: list[float], wanted: int) -> SelectionInput:
    """One class of candidates on a line; the first of them is where the winner is."""
    pool = np.array(places)[:, None]
    return SelectionInput(("class",), (pool,), wanted, 3, 1, 3, 0, "replace-one")


STEP = 2.0**-10
"""Of distances, where the largest norm is at least 1 and less than 2; machines differ by 4 millionths of it."""


def test_where_steps_begin_follows_from_what_was_measured():
    """A provider knows how far its images lie from each other, and could set them on edges that it knew."""
    scene = on_a_line([0.0, 1.0], wanted=1)
    assert Drawn().pick({"chosen": np.array([0])}, scene)[0].tolist() == [0]
    rulers = [scene.ruler({"chosen": np.array([each])}) for each in range(50)]
    assert len({each.offset for each in rulers}) == 50
    assert 0 <= min(each.offset for each in rulers) < 0.2 < 0.8 < max(each.offset for each in rulers) < 1
    assert {(each.step, round(each.reach, 12)) for each in rulers} == {(STEP, 4e-6)}
    halves = [Ruler(STEP, 4e-6, offset).count_steps(np.array([10.3 * STEP])) for offset in (0.0, 0.5)]
    assert [each.tolist() for each in halves] == [[10.0], [11.0]]


def test_a_step_is_a_thousandth_of_the_largest_norm_of_what_can_be_used():
    pools = [np.array([[3.0, 4.0], [np.nan, 100.0]]), np.array([[0.0, 1.0]])]
    ruler = Ruler.of(pools, b"")
    assert (ruler.step, ruler.reach) == (4 / 1024, 5 * 4e-6)
    assert Ruler.of([np.zeros((1, 2))], b"").step == Ruler.of([], b"").step == 1 / 1024


def test_another_machine_may_count_a_step_more_or_fewer_only_on_an_edge():
    ruler = Ruler(step=1.0, reach=0.1)
    distances = np.array([2.0, 2.45, 2.55, 0.0, np.nan])
    assert ruler.count_steps(distances).tolist() == [2, 2, 3, 0, 0]
    low, high = ruler.bound_steps(distances)
    assert (low.tolist(), high.tolist()) == ([2, 2, 2, 0, 0], [2, 3, 3, 0, 0])
    low, high = ruler.bound_steps(np.array([0.1, 2.35]), moved=2)
    assert (low.tolist(), high.tolist()) == ([0, 2], [0, 3])


def test_one_end_of_a_distance_has_moved_unless_both_have():
    ruler = Ruler(1.0, 0.3, 0.0)
    low, high = ruler.bound_steps(np.array([10.25, 10.75, 0.1]))
    assert (low.tolist(), high.tolist()) == ([10.0, 10.0, 0.0], [11.0, 11.0, 0.0])
    low, high = ruler.bound_steps(np.array([10.0, 10.4]), moved=2)
    assert (low.tolist(), high.tolist()) == ([9.0, 10.0], [11.0, 11.0])
