"""Every error the client raises on purpose, in one tree.

    ClientError                      exit code 1 unless said otherwise
    ├── UsageError                   the command cannot be carried out as given            (2)
    ├── DataError                    the private data cannot be used; nothing was spent    (3)
    ├── BudgetError                  the privacy budget does not allow this                (4)
    │   └── LedgerError              the ledger cannot be trusted or reached
    ├── EgressError                  something that must not be sent was about to be sent; it was blocked    (5)
    ├── ProviderError                the API failed                                        (6)
    │   ├── ProviderUnreachableError no usable answer within the retry limits
    │   ├── ProviderRefusedError     a clear no: wrong key, invalid request, no credit
    │   ├── ProviderReplyError       an answer that breaks the wire contract, or of another model or host
    │   │   └── UnlistedHostError    its images are on a host that the plan does not name
    │   ├── UnusableError            too few of its images can be used; nothing more was spent
    │   └── AllowanceError           the next request would exceed what the user allows
    ├── TranscriptError              the record of the run is damaged                      (7)
    ├── ModelError                   an encoder's weights cannot be loaded                 (8)
    ├── ProtocolError                keeper and runner of a run do not understand each other
    └── StoppedError                 a person stopped the command (Ctrl-C)               (130)

Messages name facts and a next step, and nothing private beyond the owner's own file names.

>>> BudgetError.exit_code, issubclass(LedgerError, BudgetError)
(4, True)
"""

from __future__ import annotations

LONGEST = 1000
"""Most characters of a message that a terminal shows; part of it may be the API's words."""
REPORTED_ELSEWHERE = "the reason is on standard error alone, because it may tell of private data"
"""Text of an error that another process has told the owner: a program may send its exceptions anywhere."""


class ClientError(Exception):
    """Base of all errors meant for a user; ``exit_code`` is the command's exit code.

    Attributes:
        is_reported: Another process has already told the owner the reason; the text adds nothing.
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
    """The privacy budget does not allow what was asked; nothing was drawn."""

    exit_code = 4


class LedgerError(BudgetError):
    """The ledger cannot be trusted or reached; nothing was drawn."""


class EgressError(ClientError):
    """Something tried to leave without a reason in the plan or record; it was stopped before it left."""

    exit_code = 5


class ProviderError(ClientError):
    """The API failed; what was paid for is recorded and the run can be resumed."""

    exit_code = 6


class ProviderUnreachableError(ProviderError):
    """No usable answer within the retry limits."""


class ProviderRefusedError(ProviderError):
    """The API said no, and asking again would not help."""


class ProviderReplyError(ProviderError):
    """The API answered with something that breaks the wire contract."""


class UnlistedHostError(ProviderReplyError):
    """The API answered with links to a host that the public plan does not name."""


class OtherModelError(ProviderReplyError):
    """The API answered with another model than the requested one."""


class UnusableError(ProviderError):
    """Too few of the API's images are usable and distinct; no release was paid for because of them."""


class AllowanceError(ProviderError):
    """The next request would exceed a limit on requests or cost; it was not sent, and the run can be resumed."""


class TranscriptError(ClientError):
    """The record of the run is damaged."""

    exit_code = 7


class ModelError(ClientError):
    """An encoder's weights cannot be loaded."""

    exit_code = 8


class ProtocolError(ClientError):
    """A run's keeper and runner do not understand each other; nothing was drawn."""


class KeeperGoneError(ProtocolError):
    """The process with the private data ended without a message; everything paid for is in the ledger."""


class StoppedError(ClientError):
    """A person stopped the command; the run can be resumed. ``lines`` say what happened, and how to go on."""

    exit_code = 130

    def __init__(self, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


class DeclinedError(StoppedError):
    """A person answered no to a question; this is not a fault."""

    exit_code = 0


def rebuild_error(kind: str, *lines: str, is_reported: bool = True) -> ClientError:
    """Rebuild an error that another process named; ``ProtocolError`` if the kind is unknown."""
    found = globals().get(kind)
    known = found if isinstance(found, type) and issubclass(found, ClientError) else ProtocolError
    error = known(*lines)
    error.is_reported = is_reported
    return error


def spell_out(text: str) -> str:
    """Spell out invisible characters: control, zero-width, direction-changing."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def blank_out(text: str) -> str:
    """Replace characters that control a terminal, or cannot be shown, by blanks."""
    return "".join(each if each.isprintable() else " " for each in text)


def printable(text: str) -> str:
    """Return text that is safe for a terminal: one line, of limited length, without control characters."""
    found = blank_out(text[: LONGEST + 1])
    return found if len(found) <= LONGEST else found[:LONGEST] + "…"
