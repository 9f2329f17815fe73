"""Lines of the record with other figures: what came of a call, how much crossed the wire, what a dataset is worth."""

from __future__ import annotations

from leaks.forgeries.forging import Act, Event, Events, Forgery, Row, edited, forged, rewritten
from leaks.forgeries.order import beforehand
from leaks.forgeries.spellings import DAMAGED, NOTE, Change, setting

USE = r"line \d+: what it says of the dataset's use does not follow from what was released"
LENGTH = r"answer .* \(line \d+\): its recorded length is wrong"
KEY = r"request .* \(line \d+\): was sent with another key"


def more_bytes(by: int) -> Change:
    return lambda event: event.update(wire_bytes=event["wire_bytes"] + by)


EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def refused_with(**changes: object) -> Act:
    """The last refusal with something changed."""

    def change(events: Events) -> Events:
        refusals = [each for each in events if each["kind"] == "answered" and each["status"] == 422]
        refusals[-1].update(changes)
        return events

    return rewritten(change)


def called_lost(reason: str) -> Act:
    """The last refusal as a failure that nobody else saw."""

    def change(events: Events) -> Events:
        here = max(k for k, each in enumerate(events) if each.get("status") == 422)
        events[here] = {"kind": "failed", "slot": events[here]["slot"], "reason": reason}
        return events

    return rewritten(change)


OUT_OF_ORDER = r"line \d+: request .* is out of order"
MISSING: dict[str, tuple[Act, str]] = {
    "a good answer": (edited("received", setting(outputs=[EMPTY]), 9), "brought other outputs"),
    "a key that is wrong": (refused_with(status=401), OUT_OF_ORDER),
    "too many at a time": (refused_with(status=429), OUT_OF_ORDER),
    "a redirect": (refused_with(status=302), OUT_OF_ORDER),
    "a fault of the API's, once": (refused_with(status=500), OUT_OF_ORDER),
    "a connection that broke once": (called_lost("the connection broke"), OUT_OF_ORDER),
    "an answer that is too large": (called_lost("the answer is too large"), OUT_OF_ORDER),
    "a process that was cut off": (called_lost("cut off"), OUT_OF_ORDER),
}


def assessed(**changes: object) -> Act:
    """Another assessment in the closing line; what is published follows from it."""
    return edited("finished", lambda event: event.update(assessment={**event["assessment"], **changes}))


def _finer(event: Event) -> None:
    """Less than a step away, in digits of a forger's choice."""
    event["assessment"]["distance"] += 0.001717


PRAISE = {
    "classes_apart": 9.0, "distance": 0.5, "nearest": 0.2, "agreement": None, "words_agree": None, "alike": None
}  # fmt: skip
WORTH = "what a dataset is worth"
COUNTS: dict[str, tuple[Act, str]] = {
    "requests in the closing line": (
        edited("finished", lambda event: event.update(sent=event["sent"] + 17)),
        r"line \d+: counts \d+ requests, and \d+ are on record",
    ),
    "an answer's length": (edited("answered", more_bytes(17), 3), LENGTH),
    "the greeting's answer's length": (
        edited("answered", setting(wire_bytes=17)),
        LENGTH.replace(".*", "hello"),
    ),
    "a refusal's length": (
        beforehand(lambda sent, answered: [sent, answered | {"status": 503, "wire_bytes": 17}]),
        LENGTH,
    ),
    "a request's length": (edited("sent", more_bytes(-40), 2), LENGTH.replace("answer", "request")),
    "a key that is longer than any": (
        edited("sent", more_bytes(5000)),
        r"request hello \(line 2\): its recorded length is wrong",
    ),
    "a key that is longer in one request": (edited("sent", more_bytes(1), 2), KEY),
    "a body's size": (
        edited("sent", lambda event: event["body"].update(size=event["body"]["size"] + 1), 2),
        r"request .* \(line \d+\): .*body is not what crossed the wire",
    ),
    "a body's digest": (
        edited("answered", lambda event: event["body"].update(sha256="0" * 64), 2),
        r"answer .* \(line \d+\): .*body is not what crossed the wire",
    ),
}
WORTH_OF_FRAMED: dict[str, Row] = {
    "classes that are called further apart": (assessed(classes_apart=99.0), USE),
    "classes that are called more alike than they are": (assessed(agreement=1.0), USE),
    "an agreement that is called enough": (assessed(alike=-1.0), USE),
    "an agreement that no cosine has": (assessed(agreement=1.5), DAMAGED),
    "a distance as text": (assessed(distance="0.5"), DAMAGED),
}
FORGERIES: list[Forgery] = [
    *forged("missing outputs", MISSING, "missing"),
    *forged(
        WORTH,
        {
            "a dataset that is called nearer than it is": (assessed(distance=0.5), USE),
            "a dataset of which some are called nearer than they are": (assessed(nearest=0.1), USE),
            "a single class's word for several": (assessed(classes_apart=None), USE),
            "a note in an assessment": (assessed(**NOTE), DAMAGED),
        },
        "as-is",
    ),
    *forged(WORTH, WORTH_OF_FRAMED, "framed"),
    *forged(
        WORTH,
        {
            "an agreement left out": assessed(agreement=None),
            "digits after the second": edited("finished", _finer),
        },
        "matched",
        fault=USE,
    ),
    *forged(
        WORTH, {"an assessment left out": edited("finished", setting(assessment=None))}, "auto", fault=USE
    ),
    *forged(
        WORTH,
        {"an assessment of a run that measured nothing": edited("finished", setting(assessment=PRAISE))},
        fault=USE,
    ),
    *forged("counts", COUNTS),
]
