"""Bounded patience with a busy or absent API: same bytes again, with jitter, honouring Retry-After."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Self, TypeVar

import tenacity

from pcevolve.errors import ProviderUnreachableError

LONGEST_PAUSE = 60.0
Result = TypeVar("Result")


class Busy(Exception):  # noqa: N818 - a state of the API, not a fault of ours
    """The attempt failed in a way that may pass."""

    def __init__(self, reason: str, retry_after: str | None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


def _no_news(reason: str, pause: float) -> None:
    """Report nothing, where nobody asked to hear of retries."""


@dataclass(frozen=True)
class Patience:
    """How long to keep trying.

    Attributes:
        seconds: Give up on a request once this much time has passed since its first attempt.
        first: The same for the first contact, where a wrong address should be told soon.
        report: Told the reason and the pause in seconds before each further attempt.
        sleep: Seam for tests.
    """

    seconds: float = 300.0
    first: float = 10.0
    report: Callable[[str, float], None] = _no_news
    sleep: Callable[[float], None] = tenacity.nap.sleep

    def briefly(self) -> Self:
        """Patience for the first contact."""
        return replace(self, seconds=self.first)

    def until_answered(self, attempt: Callable[[], Result]) -> Result:
        """Call until it succeeds or patience ends.

        Raises:
            ProviderUnreachableError: Patience ended; the run can be resumed.
        """
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(Busy),
            stop=tenacity.stop_before_delay(self.seconds),
            wait=_pause,
            sleep=self.sleep,
            before_sleep=self._tell,
        )
        try:
            return retrying(attempt)
        except tenacity.RetryError as error:
            reason = error.last_attempt.exception()
            raise ProviderUnreachableError(
                f"no usable answer from the API after {error.last_attempt.attempt_number} attempts: {reason}; "
                "when it is back, continue with --resume"
            ) from reason

    def _tell(self, state: tenacity.RetryCallState) -> None:
        reason = state.outcome.exception() if state.outcome else None
        self.report(str(reason), state.upcoming_sleep)


def _pause(state: tenacity.RetryCallState) -> float:
    """Exponential with full jitter, at least what the API asked for, at most a minute."""
    backoff = random.uniform(0.5, 1.0) * min(LONGEST_PAUSE, 2.0 ** (state.attempt_number - 1))  # noqa: S311
    error = state.outcome.exception() if state.outcome else None
    asked = _seconds(error.retry_after or "") if isinstance(error, Busy) else 0.0
    return min(LONGEST_PAUSE, max(backoff, asked))


def _seconds(retry_after: str) -> float:
    """What a Retry-After header asks for: seconds, or until a date (RFC 9110, 10.2.3); 0 if it says neither."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        until = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):  # a year of twenty digits
        return 0.0
    return (until - datetime.now(until.tzinfo)).total_seconds() if until.tzinfo else 0.0
