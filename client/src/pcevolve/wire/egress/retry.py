"""Retry a busy or absent API within limits: the same bytes, with jitter, honouring Retry-After."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Protocol, Self, TypeVar

import tenacity

from pcevolve.errors import ProviderUnreachableError
from pcevolve.wire.providers.faults import Fault

LONGEST_PAUSE = 60.0
"""Longest pause in seconds between two attempts, unless the API requests a longer one."""
LOADING_PAUSE = 10.0
"""Longest pause in seconds while an API is loading, because it may be ready at any time."""
Result = TypeVar("Result")


class Busy(Exception):  # noqa: N818 - a state of the API, not a fault of ours
    """An attempt failed in a way that may be temporary; ``loading`` if the API is reachable but not ready."""

    def __init__(self, reason: str, retry_after: str | None, loading: bool = False) -> None:
        super().__init__(reason)
        self.retry_after, self.loading = retry_after, loading


def require_final(status: int, found: Fault, retry_after: str | None) -> str:
    """Describe a failure that no retry would fix (``Busy`` if a retry may help)."""
    reason = f"HTTP {status}" + (f" ({found.message})" if found.message else "")
    # Only the status tells about loading: servers answer 503 while they read a model from disk.
    if found.passes:
        raise Busy(reason, retry_after, loading=status == HTTPStatus.SERVICE_UNAVAILABLE)
    return reason


class Notice(Protocol):
    """A notice for the person who waits for a run."""

    @property
    def message(self) -> str: ...


@dataclass(frozen=True)
class LossNotice:
    """Outputs are missing, and the run continues."""

    message: str


@dataclass(frozen=True)
class RetryNotice:
    """A retry, with its reason and times in seconds."""

    reason: str
    loading: bool
    waited: float
    limit: float
    pause: float

    @property
    def message(self) -> str:
        if self.loading:
            return (
                f"the API is loading ({self.reason}): waited {self.waited:.0f} of at most {self.limit:.0f} s "
                f"(provider.patience); trying again in {self.pause:.0f} s"
            )
        return f"the API is not answering ({self.reason}); trying again in {self.pause:.0f} s"


YEAR = 365 * 86400.0


def _report_nothing(notice: Notice) -> None: ...


@dataclass(frozen=True)
class RetryPolicy:
    """The limits of retries.

    Attributes:
        seconds: Time after a request's first attempt at which the request is given up.
        first: The same time for the first contact; it is shorter, because a wrong address should be reported soon.
        loading: The same time while the API answers that it is loading; None for ``seconds``.
        option: The option that sets ``seconds``; ``provider.patience`` sets ``loading``.
        report: Called before each retry, and for missing outputs.
        advice: What to do after retries have ended and the API is back.
        hint: A possible cause other than the API; empty if none is known.
    """

    # Five minutes cover a server's restart; a person should decide about a longer outage.
    seconds: float = 300.0
    # At the first contact, a typing error is likelier than an outage.
    first: float = 10.0
    report: Callable[[Notice], None] = _report_nothing
    sleep: Callable[[float], None] = tenacity.nap.sleep
    loading: float | None = None
    option: str = "provider.patience"
    advice: str = "continue with --resume RUN"
    hint: str = ""

    def before_plan(self) -> Self:
        """Return a policy with other advice, because there is no run to resume before a plan is on record."""
        return replace(self, advice="run the same command again")

    def for_first_contact(self) -> Self:
        """Return a tighter policy for the first contact; a server that is loading gets the normal time."""
        loading = max(self.seconds, self.first)
        return replace(
            self.before_plan(), seconds=self.first, loading=loading, option="provider.first_contact"
        )

    def until_answered(self, attempt: Callable[[], Result], asked: str = "") -> Result:
        """Repeat ``attempt`` within the limits, then raise ``ProviderUnreachableError``, which quotes ``asked``."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(Busy),
            # A pause that the API requests counts towards the delay.
            stop=lambda state: tenacity.stop_before_delay(self._limit(_error_of(state)))(state),
            wait=_pause,
            # Replaced if several requests are in flight, because a waiting thread must wake when the run
            # stops.
            sleep=self.sleep,
            before_sleep=self._tell,
        )
        try:
            return retrying(attempt)
        except tenacity.RetryError as error:
            reason = error.last_attempt.exception()
            # A separate message, because a quota that lasts a day needs another remedy than a server that is
            # down.
            wait, limit = _read_asked_seconds(reason), self._limit(reason)
            if wait > limit:
                option = self.option if limit == self.seconds else "provider.patience"
                raise ProviderUnreachableError(
                    f"the API asks the client to wait {spell_duration(wait)} (Retry-After), longer than {option} "
                    f"allows ({limit:.0f} s): {reason}; after that time, {self.advice}"
                ) from reason
            raise ProviderUnreachableError(
                f"no usable answer from the API after {error.last_attempt.attempt_number} "
                f"attempts{asked and ' at '}{asked}: {reason}; when the API works again, "
                f"{self.advice}{self.hint and '; '}{self.hint}"
            ) from reason

    def _limit(self, error: BaseException | None) -> float:
        """Return for how many seconds a failure may be retried."""
        return self.loading if self.loading is not None and _loads(error) else self.seconds

    def _tell(self, state: tenacity.RetryCallState) -> None:
        reason, waited = _error_of(state), state.seconds_since_start or 0.0
        self.report(
            RetryNotice(str(reason), _loads(reason), waited, self._limit(reason), state.upcoming_sleep)
        )


def _error_of(state: tenacity.RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _loads(error: BaseException | None) -> bool:
    """True if an API answered an attempt that it is not ready yet."""
    return isinstance(error, Busy) and error.loading


def _pause(state: tenacity.RetryCallState) -> float:
    """Return an exponential pause with full jitter, capped, or the API's requested pause if that is longer."""
    error = _error_of(state)
    # A loading server is tried more often, because it is reachable and answers as soon as it is ready.
    longest = LOADING_PAUSE if _loads(error) else LONGEST_PAUSE
    # Jitter, so that clients that failed together do not return together. It is public randomness, so it may
    # show.
    backoff = random.uniform(0.5, 1.0) * min(longest, 2.0 ** (state.attempt_number - 1))  # noqa: S311
    # Never sooner than the API requests: it would answer 429 again and count the attempt.
    return max(backoff, _read_asked_seconds(error))


def _read_asked_seconds(error: BaseException | None) -> float:
    """Return the pause that an answer requests, in seconds; 0 if none."""
    return _seconds(error.retry_after or "") if isinstance(error, Busy) else 0.0


def spell_duration(seconds: float) -> str:
    """Return a duration for people to read: minutes, hours or days."""
    if seconds > YEAR:
        return "more than a year"
    for word, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        # From two on, so that "1 hours" never appears.
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {word}"
    return f"{seconds:.0f} seconds"


def _seconds(retry_after: str) -> float:
    """Return the wait in a Retry-After header in seconds, also for a date (RFC 9110, 10.2.3); 0 if invalid."""
    # ``isdigit`` alone accepts digits of other scripts; ``float`` reads them, but no server means them.
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        until = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):  # such as a year of twenty digits
        return 0.0
    # A date without a time zone is ambiguous, so it is ignored.
    return (until - datetime.now(until.tzinfo)).total_seconds() if until.tzinfo else 0.0
