"""A provider that never carries out one request of a paid round: the run finishes without it, and its audit holds."""

from __future__ import annotations

import pytest

from hostile.attempt import Attempt, Case
from hostile.provider import Act, Line, Request, honest, response

TOO_LONG = b'{"error": {"message": "maximum context length is 77 tokens", "type": "invalid_request_error"}}'
MANY = (("candidates", 6), ("batch", 1), ("patience", 8))


def always(status: str, body: bytes) -> Act:
    """Answer the first request that comes so, each time that it comes, and others honestly."""
    chosen: list[int] = []

    def act(line: Line, request: Request) -> None:
        seed = request.fields["seed"]
        chosen.append(seed)
        line.send(response(body, status) if seed == chosen[0] else response(honest(request)))

    return act


def reset_at_one() -> Act:
    chosen: list[int] = []

    def act(line: Line, request: Request) -> None:
        seed = request.fields["seed"]
        chosen.append(seed)
        line.reset() if seed == chosen[0] else line.send(response(honest(request)))

    return act


CASES = [
    Case("a context length", "variation", always("400 Bad Request", TOO_LONG), code=0, options=MANY),
    Case("a permanent 500", "variation", always("500 Oops", b'{"error": "oops"}'), code=0, options=MANY),
    Case("a gateway", "variation", always("504 Gateway Timeout", b"<html>"), code=0, options=MANY),
    Case("a broken line", "variation", reset_at_one(), code=0, options=MANY),
    Case("zero images", "variation", always("200 OK", b'{"images": []}'), code=0, options=MANY),
    Case("no Unicode", "variation", always("200 OK", b'{"image": "\xff"}'), code=0, options=MANY),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_run_goes_on_without_what_its_provider_never_carries_out(attempt: Attempt, case: Case):
    attempt(case)


def test_a_provider_that_carries_out_nothing_any_more_is_asked_again_for_all_that_is_missing(
    attempt: Attempt,
):
    def refuse(line: Line, request: Request) -> None:
        line.send(response(TOO_LONG, "400 Bad Request"))

    attempt(Case("all of a round", "variation", refuse, says="--resume", options=MANY))
