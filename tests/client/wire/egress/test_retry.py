"""Who waits for an API, how long, and what is said meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from unittest import mock

import pytest

from pcevolve.errors import ProviderUnreachableError
from pcevolve.wire.egress.retry import Busy, Notice, RetryPolicy, spell_duration


def pauses_of(asked: str, seconds: float, sleep: Callable[[float], object] | None = None) -> list[float]:
    """Seconds slept by whoever is told once when to ask again, and has so much patience."""
    pauses: list[float] = []
    answers = iter([Busy("HTTP 429 (daily quota)", asked)])

    def attempt() -> str:
        for answer in answers:
            raise answer
        return "ok"

    assert RetryPolicy(seconds=seconds, sleep=sleep or pauses.append).until_answered(attempt) == "ok"
    return pauses


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("7", 7, 7),
        ("120", 120, 120),
        ("Wed, 21 Oct 9999 07:28:00 GMT", 2e11, 3e11),
        *(
            (unbelieved, 0, 1)
            for unbelieved in ("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00")
        ),
        *((unbelieved, 0, 1) for unbelieved in ("-5", "1e9", "NaN", "\u0663", "")),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_anything_else_is_not_believed(asked, least, most):
    assert least <= pauses_of(asked, 1e12)[0] <= most


def test_a_date_in_retry_after_is_waited_for():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 <= pauses_of(soon, 1e9)[0] <= 30


@pytest.mark.parametrize(
    ("asked", "told"), [("86400", "24 hours"), ("5400", "90 minutes"), ("9" * 30, "more than a year")]
)
def test_an_api_that_asks_for_more_time_than_there_is_patience_is_not_waited_for(asked, told):
    with pytest.raises(ProviderUnreachableError, match=rf"asks the client to wait {told} .*daily quota"):
        pauses_of(asked, 300, lambda seconds: pytest.fail("slept"))


def test_a_wait_of_all_the_patience_there_is_is_not_begun():
    with pytest.raises(
        ProviderUnreachableError, match="no usable answer from the API after 1 attempts: HTTP 429"
    ):
        pauses_of("300", 300, lambda seconds: pytest.fail("slept"))
    assert pauses_of("299", 300) == [299]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.4, "0 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7199, "120 minutes"),
        (7200, "2 hours"),
        (172_800, "2 days"),
        (31_536_000, "365 days"),
        (31_536_001, "more than a year"),
    ],
)
def test_a_time_is_told_in_the_largest_unit_of_which_it_has_two(seconds: float, told: str):
    assert spell_duration(seconds) == told


def ask_in_vain(policy: RetryPolicy, *, loading: bool) -> tuple[list[float], list[Notice], str]:
    """Pauses, notices and the error of whoever asks an API that never answers."""
    pauses: list[float] = []
    notices: list[Notice] = []

    def attempt() -> str:
        raise Busy("HTTP 503", None, loading)

    with freeze_clock(pauses), pytest.raises(ProviderUnreachableError) as caught:
        replace(policy, sleep=pauses.append, report=notices.append).until_answered(attempt, "an image")
    return pauses, notices, str(caught.value)


@contextmanager
def freeze_clock(pauses: list[float]) -> Iterator[None]:
    """Time passes only while somebody sleeps."""
    with mock.patch("tenacity.time.monotonic", side_effect=lambda: sum(pauses)):
        yield


@pytest.mark.parametrize(("loading", "longest", "patience"), [(False, 60, 300), (True, 10, 300)])
def test_pauses_double_up_to_a_minute_or_to_ten_seconds_while_the_api_loads(loading, longest, patience):
    pauses, notices, error = ask_in_vain(RetryPolicy(), loading=loading)
    for place, pause in enumerate(pauses):
        assert min(longest, 2.0**place) / 2 <= pause <= min(longest, 2.0**place)
    assert patience - longest <= sum(pauses) < patience
    assert (
        f"after {len(pauses) + 1} attempts at an image: HTTP 503; when the API works again, continue with"
        in error
    )
    first = notices[0].message
    assert first.startswith(
        "the API is loading (HTTP 503): waited 0 of at most 300 s" if loading else "the API is not"
    )


def test_a_first_contact_is_given_up_after_ten_seconds_unless_the_api_loads():
    contact = RetryPolicy(hint="is it running?").for_first_contact()
    pauses, _, error = ask_in_vain(contact, loading=False)
    assert sum(pauses) < 10
    assert error.endswith("run the same command again; is it running?")
    assert 290 <= sum(ask_in_vain(contact, loading=True)[0]) < 300
