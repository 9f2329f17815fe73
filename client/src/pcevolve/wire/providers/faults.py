"""Read the errors of many APIs, in any form, as one type. Nothing in them is trusted.

A general rule decides whether a retry may help. Status 408, 425, 429 and every status from 500 on may be
temporary, except the few that are permanent. A code for too many requests is temporary under any status. A
code for the key, the credit, moderation or NaN output is permanent.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pcevolve.errors import printable
from pcevolve.public.answers import LONGEST_FAULT, is_success, parse, strip_mark

# A message is foreign text on the owner's screen, so it gets one line and leaves room for the remedy.
_LONGEST_MESSAGE: Final = 200
_LONGEST_PLAIN: Final = 400
"""Largest number of bytes of a plain body that is read as a message."""
# A list, a gateway's wrapper and a vendor's wrapper are three levels; deeper nesting would only exhaust the
# stack.
_DEEPEST: Final = 4
# In order of how informative they usually are: a title such as "Bad Request" repeats the status.
_MESSAGES: Final = (
    "message", "msg", "detail", "status_msg", "error_description", "errors", "error", "title",
    "faultstring", "errorMessage", "Error", "reason",
)  # fmt: skip
_WRAPPERS: Final = ("error", "detail", "base_resp", "errors", "choices", "fault", "output")
_TITLE: Final = re.compile(rb"<(?:title|Message|h1)[^>]*>\s*([^<]{1,300})", re.IGNORECASE)


def read_message(body: bytes, answer: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return the message of an error; empty without one.

    ``answer`` is the parsed JSON; None if the error is not JSON.
    """
    # Only the first message: others mostly repeat it, or contain a trace of the server's own code.
    found = next(_texts(answer), "") if answer is not None else _page(body)
    return " ".join(printable(found).split())[:_LONGEST_MESSAGE]


def layers(answer: Any, depth: int = 0) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - whatever JSON holds
    """Yield the error and its wrappers, the innermost first."""
    # The first of several errors, because fixing one may remove the others.
    if isinstance(answer, list) and answer and depth < _DEEPEST:
        yield from layers(answer[0], depth + 1)
    if isinstance(answer, dict):
        for name in _WRAPPERS:
            if depth < _DEEPEST:
                yield from layers(answer.get(name), depth + 1)
        # Innermost first: wrappers report that something failed, and the inner error reports what.
        yield answer


def _texts(answer: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    """Yield messages of an error, the most informative first."""
    if isinstance(answer, str):
        yield answer
    for layer in layers(answer):
        where = layer.get("loc")  # FastAPI names the wrong field in a list
        at = f"{'.'.join(map(str, where[:6]))}: " if isinstance(where, list) and where else ""
        for name in _MESSAGES:
            value = layer.get(name)
            # Some APIs give a list of messages under the same name.
            first = value[0] if isinstance(value, list) and value else value
            if isinstance(first, str) and first.strip():
                yield at + first


def _page(body: bytes) -> str:
    """Return the title of a page, or a body that is a short message itself."""
    if found := _TITLE.search(body[:LONGEST_FAULT]):
        return html.unescape(found[1].decode("utf-8", "replace")).strip()
    text = strip_mark(body)
    # Longer text, or markup, is a page for people and not a message.
    if not text or len(text) > _LONGEST_PLAIN or text.lstrip()[:1] in b'<{["':
        return ""
    try:
        return text.decode("utf-8").strip()
    except UnicodeDecodeError:
        return ""


Reason = Literal["key", "credit", "content", "numbers", "field", "size"]
_Meaning = Reason | Literal["rate"]
"""The meaning of an error; only ``"rate"``, too many requests, is temporary."""
# Timeout, too early, too many requests: the request itself was correct.
PASSING: Final = frozenset({408, 425, 429})
"""Statuses below 500 of failures that may be temporary."""
# Not implemented, or a missing version, extension or login: repeating changes nothing.
FINAL: Final = frozenset({501, 505, 506, 510, 511})
"""Statuses from 500 on that no retry changes."""
# 520 to 528 are Cloudflare's, whose server behind it may have finished the image.
_GATEWAYS: Final = frozenset({408, 502, 504, *range(520, 529)})
"""Statuses with which a gateway stops waiting for a request that the API may continue."""
_CODES: Final = ("code", "type", "name", "error", "status_code", "__type", "errorcode")
# Not 403: depending on the API, it means a wrong key, a region, a filter or an empty account.
_BY_STATUS: Final[Mapping[int, Reason]] = {401: "key", 402: "credit"}
_BY_CODE: Final[Mapping[_Meaning, re.Pattern[str]]] = {
    "numbers": re.compile("^notfinite$|^nansexception$"),
    # Before "key" and "rate", because an empty account is often reported as either of them.
    "credit": re.compile(
        "insufficient(user)?(quota|balance|credit|fund)|billing|paymentrequired|arrear|overdue|outofcredits"
    ),
    "content": re.compile("moderation|content(policy|filter|reject)|sensitivecontent|datainspection|safety"),
    "key": re.compile("(invalid|incorrect)(api)?key|^invalidtoken|authentication|^unauthori[sz]ed"),
    "rate": re.compile("ratelimit|toomanyrequests|throttl|overload"),
}
"""Meanings of an error's code, in lower case and without separators."""
_BY_WORDS: Final[Mapping[_Meaning, re.Pattern[str]]] = {
    "credit": re.compile(
        r"(?:insufficient|not enough|out of|no) (?:account |user )?(?:balance|credit|quota|funds)"
        r"|balance (?:is |too |not )*(?:insufficient|low|enough)|exceeded your .{0,20}quota|billing"
    ),
    "content": re.compile(
        r"moderation|safety (?:system|filter|checker)|content policy|nsfw|flagged|sensitive (?:content|info)"
    ),
    "rate": re.compile(
        r"rate.?limit|too many requests|too fast|overload|busy|unavailable|timeout|timed.?out|try again|capacity"
        r"|temporarily|per minute|server.?error"
    ),
    "key": re.compile(r"api.?key|unauthori[sz]ed|authenticat|invalid token"),
    "size": re.compile(
        r"\b[0-9]{2,4} ?x ?[0-9]{2,4}\b|(?:image|such|bad|invalid|unsupported) (?:size|resolution)\b"
        r"|\b(?:size|width|height|resolution)\b.{0,40}(?:must|least|most|multiple|divisible|valid|support)"
    ),
}
"""Meanings of an error's message, used only if neither code nor status decides."""


@dataclass(frozen=True)
class Fault:
    """An unsuccessful answer.

    Attributes:
        message: The API's own short message, printable; empty if its form is unknown.
        reason: Why a retry would not help, if known.
        passes: Whether the same request may succeed later.
        coded: Whether a code or the status gives the reason. If not, words alone give it, which are
            ambiguous.
        status: The HTTP status, or the status stated in the body of a success; 0 if the body states none.
    """

    message: str
    reason: Reason | None
    passes: bool
    coded: bool = False
    status: int = 0


def fault(status: int, body: bytes, reasons: Mapping[str, Reason]) -> Fault:
    """Read an error answer, also one with a success status.

    ``reasons`` gives the meanings of the API's own error codes.
    """
    answer = parse(body)
    message = read_message(body, answer)
    # An error under status 200 states its own status in the body, if anywhere.
    stated = _read_status(answer) if is_success(status) else status
    # Codes are made for programs; words count only if neither code nor status decides.
    coded = means = _by_code(answer, reasons) or _BY_STATUS.get(stated)
    # Under a success status, words decide about everything, because the status says nothing.
    if means is None and is_success(status):
        means = _by_words(message, tuple(_BY_WORDS))
    # Words about the rate are left out: a permanent status already shows that waiting is useless.
    elif means is None and not may_pass(status):
        means = _by_words(message, ("credit", "content", "key", "size"))
    if means == "rate":
        # A rate limit is no reason to stop, so it is reported as a failure that passes.
        return Fault(message, None, True, status=stated)
    return Fault(message, means, means is None and may_pass(stated), coded is not None, stated)


def may_pass(status: int) -> bool:
    """True if a failure with this status may be temporary; an error's own codes have priority."""
    return status in PASSING or (status >= 500 and status not in FINAL)


def may_have_made(status: int, body: bytes) -> bool:
    """True if the API may have made, and billed, images that this answer does not contain.

    500 and 503 count too, except with a JSON body, which comes from the API itself; a page may come from a gateway.
    """
    stated = (_read_status(parse(body)) or status) if is_success(status) else status
    return stated in _GATEWAYS or (stated in (500, 503) and not isinstance(parse(body), dict))


def _read_status(answer: Any) -> int:  # noqa: ANN401 - whatever JSON holds
    """Return the HTTP status that the body of an error states under a success status; 0 if it states none."""
    # Only numbers from 400 to 599, because other codes are the API's own numbering.
    codes = (int(each) for each in _codes(answer) if re.fullmatch("[45][0-9]{2}", each))
    return next(codes, 0)


def _by_code(answer: Any, reasons: Mapping[str, Reason]) -> _Meaning | None:  # noqa: ANN401 - whatever JSON holds
    for code in _codes(answer):
        if code in reasons:
            return reasons[code]
        # ``rate_limit_exceeded``, ``RateLimitExceeded`` and ``rate-limit`` are one code.
        bare = re.sub("[^a-z]", "", code.lower())
        for reason, known in _BY_CODE.items():
            # A code with a space is a sentence, and its joined words would match by accident.
            if " " not in code and known.search(bare):
                return reason
    return None


def _by_words(message: str, of: tuple[_Meaning, ...]) -> _Meaning | None:
    return next((each for each in of if _BY_WORDS[each].search(message.lower())), None)


def _codes(answer: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    for layer in layers(answer):
        for name in _CODES:
            value = layer.get(name)
            if isinstance(value, str | int) and not isinstance(value, bool):
                # Cut before any pattern reads it, because the provider chose the text and its length.
                yield str(value)[:200]
