"""Lines of the record in another spelling, in another order, or with other counts: bits between the lines."""

from __future__ import annotations

import copy
from collections.abc import Callable

from leaks.forgeries.forging import (
    Act,
    Event,
    Events,
    Forgery,
    Row,
    edited,
    forged,
    place,
    places,
    replaced,
    respelled,
    rewritten,
)

EDITED, DAMAGED = r"transcript line \d+ was edited", r"transcript line \d+ (was edited|is damaged)"
USE = r"line \d+: what it says of the dataset's use does not follow from what was released"
LENGTH = r"answer .* \(line \d+\): its recorded length is wrong"
KEY = r"request .* \(line \d+\): was sent with another key"
NOTE = {"note": "patient 17"}
Change = Callable[[Event], object]


def setting(**fields: object) -> Change:
    return lambda event: event.update(fields)


def cast(name: str, kind: type) -> Change:
    """A field coerced to another type."""
    return lambda event: event.update({name: kind(event[name])})


def more_bytes(by: int) -> Change:
    return lambda event: event.update(wire_bytes=event["wire_bytes"] + by)


def stands(what: str, where: str) -> str:
    """Quote an audit on a line in the wrong place."""
    return rf"line \d+: {what} stands where {where}"


def _reordered(line: bytes) -> bytes:
    head, _, tail = line.partition(b',"prev":')
    prev, _, seq = tail.rstrip(b"}\n").partition(b",")
    return b'{"prev":' + prev + b"," + head.removeprefix(b"{") + b"," + seq + b"}\n"


SPELLINGS = {
    "a space after a comma": respelled(replaced(b",", b", "), "sent"),
    "a space at the end": respelled(replaced(b"}\n", b"} \n"), "sent"),
    "a tab at the beginning": respelled(lambda line: b"\t" + line, "sent"),
    "a line end of another system": respelled(replaced(b"\n", b"\r\n"), "sent"),
    "an escaped letter": respelled(replaced(b'"method"', b'"m\\u0065thod"'), "sent"),
    "an escaped slash": respelled(replaced(b"http://", b"http:\\/\\/"), "sent"),
    "a key twice": respelled(replaced(b'"kind"', b'"kind":"patient 17","kind"'), "sent"),
    "another order of keys": respelled(_reordered, "finished"),
    "a number of the line as float": respelled(lambda line: line.removesuffix(b"}\n") + b".0}\n", "finished"),
    "2.0 for 2 in the closing count": edited("finished", cast("sent", float)),
    "a status as float": edited("answered", cast("status", float)),
    "an answer's length as float": edited("answered", cast("wire_bytes", float)),
    "a request's length as float": edited("sent", cast("wire_bytes", float)),
    "a body's size as float": edited("sent", lambda event: cast("size", float)(event["body"])),
    "true for 1": edited("released", lambda event: event["receipt"].update(iteration=True)),
    "an event's count as float": edited(
        "released", lambda event: event["receipt"]["events"][0].update(count=1.0)
    ),
    "a planned size as float": edited("planned", lambda event: event["plan"]["modality"].update(width=16.0)),
    "a whole number for a planned float": edited(
        "planned", lambda event: event["plan"]["privacy"].update(delta=0)
    ),
}
UNREADABLE = {
    "a byte order mark": respelled(lambda line: b"\xef\xbb\xbf" + line, "opened"),
    '"2" for 2': edited("finished", cast("sent", str)),
    "a status as text": edited("answered", cast("status", str)),
    "a key of its own": edited("finished", setting(**NOTE)),
    "a key of its own in a body": edited("sent", lambda event: event["body"].update(NOTE)),
    "a key of its own in the plan": edited("planned", lambda event: event["plan"].update(NOTE)),
    "a key of its own in a receipt": edited("released", lambda event: event["receipt"].update(NOTE)),
    "a key of its own in an event": edited(
        "released", lambda event: event["receipt"]["events"][0].update(NOTE)
    ),
    "a key of its own in a choice": edited(
        "released", lambda event: event["receipt"]["choices"][0]["chosen"][0].update(NOTE)
    ),
    "a default left out": edited("released", lambda event: event["receipt"].pop("values")),
    "a digest in capitals": edited("received", lambda event: event["outputs"].append("A" * 64)),
    "a kind of its own": edited("finished", setting(kind="note")),
    "not a number": edited("released", lambda event: event["receipt"].update(values=[float("nan")])),
}


def inserted(
    kind: str, at: str, which: int = 0, where: int = 0, after: bool = False, **changes: object
) -> Act:
    """Another event like one that is there, with changes, before or after the event ``at``."""

    def change(events: Events) -> Events:
        more = copy.deepcopy(events[place(events, kind, which)]) | changes
        here = place(events, at, where) + after
        return [*events[:here], more, *events[here:]]

    return rewritten(change)


def dropped(kind: str, which: int = 0) -> Act:
    return rewritten(lambda events: _without(events, place(events, kind, which)))


def _without(events: Events, *gone: int) -> Events:
    return [event for number, event in enumerate(events) if number not in gone]


def exchanged(kind: str, one: int, other: int) -> Act:
    """Two events of a kind, each in the other's place."""

    def change(events: Events) -> Events:
        a, b = place(events, kind, one), place(events, kind, other)
        events[a], events[b] = events[b], events[a]
        return events

    return rewritten(change)


def moved(kind: str, which: int, at: str, where: int) -> Act:
    """An event taken from its place and put before another."""

    def change(events: Events) -> Events:
        event = events.pop(place(events, kind, which))
        here = place(events, at, where)
        return [*events[:here], event, *events[here:]]

    return rewritten(change)


def counted(events: Events) -> Events:
    """A closing line that counts the requests there are."""
    events[-1]["sent"] = len(places(events, "sent"))
    return events


def asked_again(slot: str | None) -> Act:
    """An exchange that took place, once more after the third image; of the greeting, the balance, or a call."""

    def change(events: Events) -> Events:
        of = events[place(events, "received")]["slot"] if slot is None else "hello"
        pair = copy.deepcopy([events[place(events, kind, slot=of)] for kind in ("sent", "answered")])
        here = places(events, "received")[2] + 1
        for event in pair:
            event["slot"] = slot or of
        return counted([*events[:here], *pair, *events[here:]])

    return rewritten(change)


def asked_twice(events: Events) -> Events:
    """A request once more after its answer, and before it is written down what that brought."""
    here = place(events, "received", 2)
    return counted([*events[:here], *copy.deepcopy(events[here - 2 : here]), *events[here:]])


def asked_for_the_balance(times: int) -> Act:
    """A question for what is left on the account, before the plan and as everybody asks it, so many times."""

    def change(events: Events) -> Events:
        here = place(events, "planned")
        pair = copy.deepcopy(events[here - 2 : here])
        for event in pair:
            event["slot"] = "account"
        pair[0]["url"] = pair[0]["url"].replace("/models", "/account/balance")
        pair[0]["wire_bytes"] += len("account/balance") - len("models")
        return counted([*events[:here], *pair * times, *events[here:]])

    return rewritten(change)


def without_a_greeting(events: Events) -> Events:
    return counted(_without(events, place(events, "sent"), place(events, "answered")))


def without_a_call(events: Events) -> Events:
    """The last call and what it brought are not on record."""
    slot = events[place(events, "received", -1)]["slot"]
    kinds = ("sent", "answered", "received")
    return counted(
        _without(events, *(number for kind in kinds for number in places(events, kind, slot=slot)))
    )


def beforehand(make: Callable[[Event, Event], Events]) -> Act:
    """More lines before the first image is asked for, made of that request and its answer; and counted."""

    def change(events: Events) -> Events:
        here = place(events, "sent", 1)
        more = make(*copy.deepcopy(events[here : here + 2]))
        return counted([*events[:here], *more, *events[here:]])

    return rewritten(change)


def failing(reason: str) -> Act:
    """A request that failed for a reason in somebody's own words."""
    return beforehand(lambda sent, _: [sent, {"kind": "failed", "slot": sent["slot"], "reason": reason}])


def _going_on(events: Events) -> Events:
    """The last call once more behind the closing line, and a closing line that counts it."""
    again = copy.deepcopy(events[-4:])
    again[-1]["sent"] += 1
    return [*events, *again]


UNREADABLE |= {
    "free text in a failure's reason": failing("patient 17"),
    "a reason in other letters": failing("Cut off"),
}
FIRST = "i000/c000/n000000"
NOTHING = {"kind": "failed", "slot": FIRST, "reason": "the connection broke"}
BROUGHT, ASKED = "what .* brought is due", "what came of request"
ORDER: dict[str, tuple[Act, str]] = {
    "a second plan": (inserted("planned", "planned", after=True), stands("'planned'", "request")),
    "a second opening with another host": (
        inserted("opened", "opened", after=True, api="http://evil.example"),
        stands("'opened'", "the greeting is due"),
    ),
    "an opening in the middle": (inserted("opened", "released"), stands("'opened'", "the receipt")),
    "no greeting": (rewritten(without_a_greeting), stands("'planned'", "the greeting is due")),
    "a greeting that the first line denies": (
        edited("opened", setting(greets=False)),
        stands("'sent' hello", "the plan is due"),
    ),
    "a greeting after the plan": (asked_again("hello"), stands("'sent' hello", "request")),
    "a question for the balance after the plan": (
        asked_again("account"),
        stands("'sent' account", "request"),
    ),
    "a question for the balance after its answer": (
        asked_for_the_balance(17),
        stands("'sent' account", "the plan is due"),
    ),
    "a request again after it was answered": (asked_again(None), stands(f"'sent' {FIRST}", "request")),
    "a request again before its answer was read": (rewritten(asked_twice), stands("'sent' .*", BROUGHT)),
    "an answer that nobody asked for": (
        inserted("answered", "received", where=1),
        stands("'answered' .*", BROUGHT),
    ),
    "an answer after what it brought": (
        inserted("answered", "received", where=1, after=True, which=2),
        stands("'answered' .*", "request"),
    ),
    "a failure that nobody met": (
        rewritten(lambda events: [*events[:4], NOTHING, *events[4:]]),
        stands(f"'failed' {FIRST}", f"request {FIRST} is due"),
    ),
    "a failure after an answer": (
        rewritten(lambda events: [*events[:6], NOTHING, *events[6:]]),
        stands(f"'failed' {FIRST}", f"what {FIRST} brought is due"),
    ),
    "a question of which nothing came": (beforehand(lambda sent, _: [sent]), stands("'sent' .*", ASKED)),
    "an answer to another slot": (
        edited("answered", setting(slot="i000/c000/n000002"), 1),
        stands("'answered' i000/c000/n000002", f"{ASKED} {FIRST}"),
    ),
    "an answer to the greeting under another slot": (
        edited("answered", setting(slot="i000/c000/n000000"), 0),
        stands("'answered' i000/c000/n000000", "what came of request hello"),
    ),
    "what a call brought, twice": (
        inserted("received", "received", after=True),
        stands("'received' .*", "request"),
    ),
    "what two calls brought, exchanged": (
        exchanged("received", 0, 1),
        r"line \d+: request i000/c001/n000000 is out of order",
    ),
    "what a call brought left out": (
        dropped("received", 2),
        r"line \d+: request i000/c001/n000002 is out of order",
    ),
    "an answer left out": (dropped("answered", 3), stands("'received' .*", ASKED)),
    "a call left out": (rewritten(without_a_call), stands("'finished'", "request")),
    "two requests exchanged": (exchanged("sent", 1, 2), stands("'sent' .*", "request")),
    "a receipt before its images": (moved("released", 0, "received", 1), stands("'released'", BROUGHT)),
    "a receipt after its first request": (
        moved("released", 0, "received", -1),
        stands("'sent' .*", "the receipt for iteration 1 is due"),
    ),
    "a receipt twice": (inserted("released", "released", after=True), stands("'released'", "request")),
    "two receipts exchanged": (
        exchanged("released", 0, 1),
        stands("'released'", "the receipt for iteration 1 is due"),
    ),
    "a receipt left out": (dropped("released", 1), stands("'sent' .*", "the receipt for iteration 2")),
    "a closing line in the middle": (inserted("finished", "released"), stands("'finished'", "the receipt")),
    "a second closing line": (inserted("finished", "finished"), stands("'finished'", "nothing")),
    "a call after the closing line": (rewritten(_going_on), stands("'sent' .*", "nothing")),
    "no closing line": (dropped("finished"), "its record is not anchored, so lines may be missing"),
}


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


PRAISE = {"classes_apart": 9.0, "distance": 0.5, "agreement": None, "words_agree": None}
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
    "an agreement that no cosine has": (assessed(agreement=1.5), DAMAGED),
    "a distance as text": (assessed(distance="0.5"), DAMAGED),
}
FORGERIES: list[Forgery] = [
    *forged("spelling of a line", SPELLINGS, fault=EDITED),
    *forged("spelling of a line", UNREADABLE, fault=DAMAGED),
    *forged("order of lines", ORDER),
    *forged("missing outputs", MISSING, "missing"),
    *forged(
        WORTH,
        {
            "a dataset that is called nearer than it is": (assessed(distance=0.5), USE),
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
