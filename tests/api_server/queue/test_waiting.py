"""Turns by work: nobody gets more of the model by longer batches, by going away, or by coming back."""

import asyncio

import pytest

from pcevolve_server.errors import BusyError
from pcevolve_server.queue.waiting import Chunk, Waiting, deliver
from pcevolve_server.work import Recipe, Task


@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def chunks(loop):
    """Return a function that makes a caller's chunks."""

    def make_chunks(caller, count, images=1, steps=1, side=8):
        recipe = Recipe(side, side, steps)
        tasks = [Task(recipe, "p", "", seed) for seed in range(images)]
        return [Chunk(caller, tasks, loop.create_future(), 0.0) for _ in range(count)]

    return make_chunks


@pytest.fixture
def waiting():
    return Waiting(10**12, 10**12)


def order(waiting, runs=10**6, least=1):
    """Callers of the batches that follow."""
    found = []
    while len(found) < runs and (batch := waiting.take(16, False, least)):
        found.append(batch[0].caller)
    return found


def test_who_asks_for_ten_times_the_work_gets_a_tenth_of_the_turns(chunks, waiting):
    waiting.add(chunks("greedy", 20, images=2, steps=50), 0.0)
    waiting.add(chunks("modest", 100, steps=10), 0.0)
    first = order(waiting, runs=44)
    assert first.count("greedy") == 4
    assert first[:2] == ["greedy", "modest"]


def test_who_asks_for_larger_images_gets_fewer_of_them(chunks, waiting):
    """One of 256 x 256 pixels takes as long as sixteen of 64 x 64."""
    waiting.add(chunks("large", 20, side=256), 0.0)
    waiting.add(chunks("small", 400, side=64), 0.0)
    first = order(waiting, runs=17 * 4)
    assert first.count("large") == 4
    assert first[:2] == ["large", "small"]


def test_coming_back_does_not_make_a_long_batch_forgotten(chunks, waiting):
    waiting.add(chunks("modest", 100), 0.0)
    turns = []
    for _ in range(60):  # one request at a time, asked again as soon as it was taken
        if "greedy" not in waiting._callers:
            waiting.add(chunks("greedy", 1, images=2, steps=10), 0.0)
        turns += order(waiting, runs=1)
    assert turns.count("greedy") == 3


def test_a_batch_that_is_padded_costs_what_a_full_one_does(chunks, waiting):
    waiting.add(chunks("singles", 40, steps=3), 0.0)
    waiting.add(chunks("full", 40, images=16, steps=3), 0.0)
    assert order(waiting, runs=20, least=16).count("singles") == 10


def test_who_shares_a_batch_pays_for_a_share(chunks, waiting):
    for caller, count in (("a", 3), ("b", 2), ("c", 1)):
        waiting.add(chunks(caller, count), 0.0)
    assert [chunk.caller for chunk in waiting.take(4, merges=True, least=8)] == ["a", "a", "a", "b"]
    assert waiting._had == {"a": 6 * 64, "b": 2 * 64, "c": 0}
    assert [chunk.caller for chunk in waiting.take(4, merges=True, least=8)] == ["c", "b"]


def test_going_away_saves_nothing_up(chunks, waiting):
    waiting.add(chunks("here", 50), 0.0)
    assert order(waiting, runs=20) == ["here"] * 20
    waiting.add(chunks("new", 50), 0.0)
    assert order(waiting, runs=10).count("new") == 5


def test_who_has_had_no_more_than_others_is_forgotten(chunks, waiting):
    for number in range(1000):
        waiting.add(chunks(f"key {number}", 1), 0.0)
        order(waiting)
    assert len(waiting._had) <= 2


def test_who_has_had_as_much_as_whose_turn_it_is_is_forgotten_although_others_wait(chunks, waiting):
    waiting.add(chunks("stays", 3), 0.0)
    waiting.add(chunks("leaves", 1), 0.0)
    assert order(waiting, runs=2) == ["stays", "leaves"]
    assert set(waiting._had) == {"stays", "leaves"}
    assert order(waiting, runs=1) == ["stays"]
    assert set(waiting._had) == {"stays"}


def test_when_nobody_waits_nobody_is_owed_anything(chunks, waiting):
    waiting.add(chunks("early", 30), 0.0)
    order(waiting)
    waiting.add(chunks("early", 4), 0.0)
    waiting.add(chunks("late", 4), 0.0)
    assert order(waiting) == ["early", "late"] * 4


def test_a_key_whose_part_is_full_waits_for_a_tenth_of_an_hour_at_most(chunks):
    waiting = Waiting(4 * 64, 2 * 64)
    waiting.add(chunks("a", 2), 10**6)
    for caller, said in (("a", "this key"), ("b", "")):
        if caller == "b":
            waiting.add(chunks("c", 2), 10**6)
        with pytest.raises(BusyError, match=said or "the queue is full") as refused:
            waiting.add(chunks(caller, 1), 10**6)
        assert refused.value.retry_after_seconds == 600
    assert (waiting.cost(), waiting.cost("a"), waiting.cost("b")) == (4 * 64, 2 * 64, 0)


def test_only_what_fits_and_has_the_same_recipe_shares_a_batch(chunks, waiting):
    (large,), others = chunks("a", 1, images=3), chunks("a", 2, images=2, steps=9)
    same = chunks("a", 1, images=1)
    waiting.add([large, *others, *chunks("a", 1, images=2), *same], 0.0)
    assert waiting.alike(large.recipe) == 3 + 2 + 1
    assert waiting.alike(others[0].recipe) == 4
    assert waiting.take(4, merges=True) == [large, *same]
    assert waiting.take(8, merges=True) == others


@pytest.mark.parametrize("merges", [True, False])
def test_a_chunk_that_is_larger_than_a_batch_may_be_by_now_does_not_hold_up_the_rest(chunks, waiting, merges):
    (large,), (small,) = chunks("a", 1, images=3), chunks("a", 1)
    waiting.add([large, small], 0.0)
    assert [waiting.take(2, merges), waiting.take(2, merges)] == [[large], [small]]


def test_what_is_taken_at_the_end_waits_no_more(chunks, waiting):
    waiting.add(chunks("a", 2), 0.0)
    assert len(waiting.drain()) == 2
    assert (waiting.images, waiting.next) == (0, None)


def test_each_chunk_gets_its_own_part_of_what_a_batch_made(chunks):
    batch = [*chunks("a", 2, images=2), *chunks("b", 1)]
    deliver(batch, [*"abcde"])
    assert [each.future.result() for each in batch] == [["a", "b"], ["c", "d"], ["e"]]
