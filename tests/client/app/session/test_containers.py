"""Whoever is no keeper gets one line from a client, which starts nothing for it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pcevolve.app.session.containers import run_at_door
from pcevolve.errors import ProtocolError
from pcevolve.public.processes.pipe import Pipe, open_conversation
from pcevolve.public.run.progress import Audience


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (("welcome", "{"), "sent something other than welcome"),
        (("welcome", "{}"), "sent something other than welcome"),
        (("claim", "{}"), "sent something other than welcome"),
        (None, "at this socket ended, or already had a client: start keeper and client again"),
    ],
)
def test_whoever_is_no_keeper_gets_one_line_and_starts_nothing(
    said: tuple[str, str] | None, fault: str
) -> None:
    ours, theirs = open_conversation()
    door, other = Pipe(*ours), Pipe(*theirs)
    if said is not None:
        other.send(*said)
    other.close()
    ended: list[bool] = []
    runner = SimpleNamespace(end=lambda kill: ended.append(kill))
    with pytest.raises(ProtocolError, match=fault):
        run_at_door(SimpleNamespace(door=door, runner=runner, folder="/door"), Audience())  # type: ignore[arg-type]
    assert ended == [True]
    door.close()
