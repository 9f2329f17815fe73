"""A provider with nothing but a clock learns nothing of how large private images or patients are.

The client is whole, the provider a process of its own, and the datasets are as far apart as neighbours get: the first
patient has one small image, or a large one and many small. Bets of an attacker who knows nothing are right as often as
a coin, on a busy machine too.
"""

from __future__ import annotations

import pytest

from membership.stopwatch import (
    BOTH,
    ERROR,
    Bet,
    Client,
    Verdict,
    silences,
    take_defences_away,
    time_runs,
    train,
)

pytestmark = pytest.mark.system

TRAINING, JUDGED = 4, 14
TICK = 0.2


@pytest.mark.parametrize("rounds", [0, 1])
def test_a_provider_with_a_clock_guesses(rounds: int):
    """One who knows nothing is taken for one who knows twice in a row less often than one time in a million."""
    tries = (time_runs(BOTH, Client(rounds, TICK), TRAINING, JUDGED) for _ in range(2))
    assert any(each.knows_nothing for each in tries)


def test_without_the_defence_he_knows():
    """No tick, a connection that stays open until the run ends, and images that are looked at when they are needed."""
    with take_defences_away():
        # On a busy machine a try may fail. One who knows nothing passes one of four once in 270 times.
        tries = (time_runs(BOTH, Client(1, tick=0), TRAINING, JUDGED, "no defence") for _ in range(4))
        assert any(not each.knows_nothing for each in tries)


def test_silences_end_with_a_request_or_with_the_connection():
    events = [
        ("opened", 1.0),
        ("asked", 1.0),
        ("answered", 2.0),
        ("asked", 2.5),
        ("answered", 3.0),
        ("closed", 7.0),
    ]
    assert silences(events) == [0.5, 4.0]


def test_the_attacker_trains_on_the_silence_that_tells_most():
    seen = [[0.1, 0.9], [0.1, 0.2], [0.2, 0.8], [0.2, 0.1]]
    assert train(seen, [1, 0, 1, 0]) == Bet(1, 0.5, longer=True)


def test_a_blind_attacker_is_taken_for_a_knowing_one_less_often_than_one_time_in_a_thousand():
    verdicts = [
        Verdict("", "", 0, 0, JUDGED, right, Bet(0, 0, longer=True), []) for right in range(JUDGED + 1)
    ]
    assert [each.right for each in verdicts if not each.knows_nothing] == [13, 14]
    assert (1 + JUDGED) / 2**JUDGED < ERROR
