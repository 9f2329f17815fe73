"""Every error that the client raises on purpose, in one tree.

    ClientError                      exit code 1, unless a subclass sets another
    ├── UsageError                   the command cannot be carried out as given            (2)
    ├── DataError                    the private data cannot be used; nothing was spent    (3)
    ├── BudgetError                  the privacy budget does not allow this                (4)
    │   └── LedgerError              the ledger cannot be trusted or reached
    ├── EgressError                  a forbidden request was blocked before it was sent    (5)
    ├── ProviderError                the API failed                                        (6)
    │   ├── ProviderUnreachableError no usable answer within the retry limits
    │   ├── ProviderRefusedError     a final refusal: wrong key, invalid request, no credit
    │   ├── ProviderReplyError       an answer that breaks the wire contract, or comes from another model or host
    │   │   └── UnlistedHostError    the answer's images are on a host that the plan does not name
    │   ├── UnusableError            too few of the API's images can be used; nothing more was spent
    │   └── AllowanceError           the next request would exceed the user's limit
    ├── TranscriptError              the record of the run is damaged                      (7)
    ├── ModelError                   an encoder's weights cannot be loaded                 (8)
    ├── ProtocolError                the two processes of a run do not understand each other
    └── StoppedError                 a person stopped the command (Ctrl-C)               (130)

A message states facts and a next step. It contains nothing private except the owner's file names.

>>> BudgetError.exit_code, issubclass(LedgerError, BudgetError)
(4, True)
"""

from __future__ import annotations

LONGEST = 1000
"""Largest number of characters of a message that a terminal shows. Part of the message may be text from the API."""
REPORTED_ELSEWHERE = "the reason is on standard error alone, because it may tell of private data"
"""Text of an error whose reason another process has printed. Programs may log exceptions, so the text omits it."""


class ClientError(Exception):
    """Base class of all errors meant for a user; ``exit_code`` is the command's exit code.

    Attributes:
        is_reported: True if another process has already shown the owner the reason.
    """

    exit_code = 1
    is_reported = False


class UsageError(ClientError):
    """The command cannot be carried out as given."""

    exit_code = 2


class DataError(ClientError):
    """The private data cannot be used; nothing was spent."""

    exit_code = 3


class BudgetError(ClientError):
    """The privacy budget does not allow the request; no noise was drawn."""

    exit_code = 4


class LedgerError(BudgetError):
    """The ledger cannot be trusted or reached; no noise was drawn."""


class EgressError(ClientError):
    """Neither the plan nor the record gives a reason for a request, so it was blocked before it was sent."""

    exit_code = 5


class ProviderError(ClientError):
    """The API failed. Everything that was paid for is recorded, and the run can be resumed."""

    exit_code = 6


class ProviderUnreachableError(ProviderError):
    """The API gave no usable answer within the retry limits."""


class ProviderRefusedError(ProviderError):
    """The API refused the request, and would refuse it again."""


class ProviderReplyError(ProviderError):
    """The API's answer breaks the wire contract."""


class UnlistedHostError(ProviderReplyError):
    """The API's answer links to a host that the public plan does not name."""


class OtherModelError(ProviderReplyError):
    """The API's answer comes from another model than the requested one."""


class UnusableError(ProviderError):
    """Too few of the API's images are usable and distinct, so no release was paid for."""


class AllowanceError(ProviderError):
    """The next request would exceed a limit on requests or cost. It was not sent, and the run can be resumed."""


class TranscriptError(ClientError):
    """The record of the run is damaged."""

    exit_code = 7


class ModelError(ClientError):
    """An encoder's weights cannot be loaded."""

    exit_code = 8


class ProtocolError(ClientError):
    """A run's two processes, keeper and runner, do not understand each other; no noise was drawn."""


class KeeperGoneError(ProtocolError):
    """The process with the private data ended without a message. Everything that was paid for is in the ledger."""


class StoppedError(ClientError):
    """A person stopped the command, and the run can be resumed. ``lines`` describe what happened and how to resume."""

    exit_code = 130

    def __init__(self, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


class DeclinedError(StoppedError):
    """A person answered no to a question. This is not a failure, so the exit code is 0."""

    exit_code = 0


def rebuild_error(kind: str, *lines: str, is_reported: bool = True) -> ClientError:
    """Rebuild an error from the class name that another process sent; ``ProtocolError`` for an unknown name."""
    found = globals().get(kind)
    known = found if isinstance(found, type) and issubclass(found, ClientError) else ProtocolError
    error = known(*lines)
    error.is_reported = is_reported
    return error


def spell_out(text: str) -> str:
    """Replace invisible characters (control, zero-width, direction-changing) by their escape sequences."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def blank_out(text: str) -> str:
    """Replace characters that control a terminal or cannot be displayed by blanks."""
    return "".join(each if each.isprintable() else " " for each in text)


def printable(text: str) -> str:
    """Return a text that is safe for a terminal: one line, limited in length, without control characters."""
    found = blank_out(text[: LONGEST + 1])
    return found if len(found) <= LONGEST else found[:LONGEST] + "…"
