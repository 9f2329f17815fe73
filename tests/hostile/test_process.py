"""The installed command as a user starts it, where it matters most; everything else is tried in forks of it."""

from __future__ import annotations

import pytest

from hostile import pictures
from hostile.attempt import Attempt, Case
from hostile.launcher import start_command
from hostile.provider import body_of, response
from hostile.test_wire import OK, drips
from support.pngs import raw_png


def sends_bombs(line, request) -> None:
    """Images that inflate for ever."""
    bomb = raw_png(pictures.SIZE, pictures.SIZE, pictures.bomb())
    line.send(response(body_of([bomb] * request.count)))


CASES = [
    Case("headers that drip", "variation", drips(OK + b"X-A: "), options=(("timeout", 3),), says="too long"),
    Case("pixels that inflate for ever", "first", sends_bombs, over=True, says="2 are all of one colour"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_command_survives(attempt: Attempt, case: Case):
    attempt(case, lambda command, seconds: start_command(command, 6 * seconds, attempt.root))
