"""Labelled images that an evaluation compares: whose they are, and what stands beside them."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.evaluation.labelled import Labelled, find_control
from pcevolve.public.transcript.layout import RunLayout


def test_the_first_few_of_each_class_come_class_after_class():
    several = Labelled(list("abcdef"), np.array([1, 0, 1, 0, 1, 2]))
    assert several.first(2) == list("bdacf")
    assert repr(several) == object.__repr__(several)  # nothing of what it holds


def test_a_random_choice_has_as_many_of_each_class_and_is_none_where_all_would_be_chosen():
    pool = Labelled(list("abcdefgh"), np.array([1, 0, 1, 0, 1, 0, 1, 1]))
    chosen = pool.choose_at_random(Labelled(list("xyz"), np.array([0, 1, 1])))
    assert chosen is not None
    assert chosen.targets.tolist() == [0, 1, 1]
    own = dict(zip("abcdefgh", pool.targets.tolist(), strict=True))
    assert [own[each] for each in chosen.images] == [0, 1, 1]
    assert len({*chosen.images}) == 3
    assert pool.choose_at_random(Labelled(list("wxyz"), np.array([0, 0, 0, 1]))) is None


def test_a_released_dataset_has_its_classes_in_the_plan_s_order(finished):
    root = finished()
    released = Labelled.released(root, ("good", "cut"))
    assert released.targets.tolist() == [0] * 3 + [1] * 3
    assert [name.split("/")[-2] for name in released.names] == ["good"] * 3 + ["cut"] * 3
    assert {each.size for each in released.images} == {(16, 16)}
    for path in RunLayout(root).release.glob("cut/*.png"):
        path.unlink()
    with pytest.raises(DataError, match="has no image of class 'cut'"):
        Labelled.released(root, ("good", "cut"))


def test_what_words_alone_brought_is_the_first_round(finished):
    drawn = Labelled.drawn_by_words(finished())
    assert sorted(drawn.targets.tolist()) == [0] * 3 + [1] * 3


def test_a_control_is_the_random_run_beside_it_of_the_same_classes(finished, tmp_path):
    root = finished()
    assert find_control(root, None) is None
    with pytest.raises(UsageError, match="is not a run of method random with the same classes"):
        find_control(root, root)
    beside = root.with_name("run-random")
    root.rename(tmp_path / "kept")
    finished(method="random").rename(beside)
    (tmp_path / "kept").rename(root)
    assert find_control(root, None) == find_control(root, beside) == beside
