"""Errors: what a terminal is given of them, and the exit code of each."""

from __future__ import annotations

import pytest

from pcevolve import errors
from pcevolve.errors import ClientError, StoppedError, printable, spell_out

CODES = {
    "ClientError": 1,
    "UsageError": 2,
    "DataError": 3,
    "BudgetError": 4,
    "LedgerError": 4,
    "EgressError": 5,
    "ProviderUnreachableError": 6,
    "ProviderRefusedError": 6,
    "ProviderReplyError": 6,
    "UnlistedHostError": 6,
    "UnusableError": 6,
    "AllowanceError": 6,
    "TranscriptError": 7,
    "ModelError": 8,
    "StoppedError": 130,
    "DeclinedError": 0,
}


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_scripts_tell_errors_by_their_exit_codes(name: str, code: int):
    assert issubclass(kind := getattr(errors, name), ClientError)
    assert kind.exit_code == code


def test_a_message_for_a_terminal_is_one_short_line_of_printable_characters():
    assert printable("a\x1b[2J\nb\u202ec") == "a [2J b c"
    assert printable("x" * 1000) == "x" * 1000
    assert printable("x" * 1001) == "x" * 1000 + "…"


def test_what_cannot_be_seen_is_spelled_out_and_lines_stay():
    assert spell_out("a\u202eb\nc\x1b") == "a\\u202eb\nc\\x1b"


def test_who_stopped_is_told_in_lines():
    assert (str(StoppedError("a", "b")), StoppedError("a", "b").lines) == ("a; b", ("a", "b"))
