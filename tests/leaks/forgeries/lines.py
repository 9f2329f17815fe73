"""Lines of the record in another spelling, in another order, or with other counts: bits between the lines."""

from __future__ import annotations

import copy
from collections.abc import Callable

from leaks.forgeries.forging import (
    Act,
    Event,
    Events,
    Forgery,
    edited,
    of_family,
    place,
    places,
    replaced,
    respelled,
    rewritten,
)

EDITED, DAMAGED = r"transcript line \d+ was edited", r"transcript line \d+ (was edited|is damaged)"
Change = Callable[[bytes], bytes]

SPELLINGS: dict[str, tuple[str, Change, str]] = {
    "a space after a comma": ("sent", replaced(b",", b", "), EDITED),
    "a space at the end": ("sent", replaced(b"}\n", b"} \n"), EDITED),
    "a tab at the beginning": ("sent", lambda line: b"\t" + line, EDITED),
    "a line end of another system": ("sent", replaced(b"\n", b"\r\n"), EDITED),
    "an escaped letter": ("sent", replaced(b'"method"', b'"m\\u0065thod"'), EDITED),
    "an escaped slash": ("sent", replaced(b"http://", b"http:\\/\\/"), EDITED),
    "a key twice": ("sent", replaced(b'"kind"', b'"kind":"patient 17","kind"'), EDITED),
    "another order of keys": ("finished", lambda line: _reordered(line), EDITED),
    "a number of the line as float": ("finished", lambda line: _with_float_seq(line), EDITED),
    "a byte order mark": ("opened", lambda line: b"\xef\xbb\xbf" + line, DAMAGED),
}


def _reordered(line: bytes) -> bytes:
    head, _, tail = line.partition(b',"prev":')
    event = head.removeprefix(b"{")
    prev, _, seq = tail.rstrip(b"}\n").partition(b",")
    return b'{"prev":' + prev + b"," + event + b"," + seq + b"}\n"


def _with_float_seq(line: bytes) -> bytes:
    return line.removesuffix(b"}\n") + b".0}\n"


def _as(name: str, value: Callable[[object], object]) -> Callable[[Event], object]:
    """A field coerced to another type."""
    return lambda event: event.update({name: value(event[name])})


COERCED: dict[str, tuple[str, Callable[[Event], object]]] = {
    "2.0 for 2 in the closing count": ("finished", _as("sent", float)),
    "a status as float": ("answered", _as("status", float)),
    "an answer's length as float": ("answered", _as("wire_bytes", float)),
    "a request's length as float": ("sent", _as("wire_bytes", float)),
    "a body's size as float": ("sent", lambda event: event["body"].update(size=float(event["body"]["size"]))),
    "true for 1": ("released", lambda event: event["receipt"].update(iteration=True)),
    "an event's count as float": ("released", lambda event: event["receipt"]["events"][0].update(count=1.0)),
    "a planned size as float": ("planned", lambda event: event["plan"]["modality"].update(width=16.0)),
    "a whole number for a planned float": ("planned", lambda event: event["plan"].update(delta=0)),
}
UNREADABLE: dict[str, tuple[str, Callable[[Event], object]]] = {
    '"2" for 2': ("finished", _as("sent", str)),
    "a status as text": ("answered", _as("status", str)),
    "a key of its own": ("finished", lambda event: event.update(note="patient 17")),
    "a key of its own in a body": ("sent", lambda event: event["body"].update(note="patient 17")),
    "a key of its own in the plan": ("planned", lambda event: event["plan"].update(note="patient 17")),
    "a key of its own in a receipt": ("released", lambda event: event["receipt"].update(note="patient 17")),
    "a key of its own in an event": (
        "released",
        lambda event: event["receipt"]["events"][0].update(note="patient 17"),
    ),
    "a key of its own in a choice": (
        "released",
        lambda event: event["receipt"]["choices"][0]["chosen"][0].update(note="patient 17"),
    ),
    "a default left out": ("released", lambda event: event["receipt"].pop("values")),
    "a digest in capitals": ("received", lambda event: event["outputs"].append("A" * 64)),
    "a kind of its own": ("finished", lambda event: event.update(kind="note")),
    "not a number": ("released", lambda event: event["receipt"].update(values=[float("nan")])),
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


def counted(events: Events) -> Events:
    """A closing line that counts the requests there are."""
    events[-1]["sent"] = len(places(events, "sent"))
    return events


def without_a_greeting(events: Events) -> Events:
    return counted(_without(events, place(events, "sent"), place(events, "answered")))


def not_greeted(events: Events) -> Events:
    """The first line says that the run begins without a greeting, and there is one."""
    events[0]["greets"] = False
    return events


def without_a_call(events: Events) -> Events:
    """The last call and what it brought are not on record."""
    slot = events[place(events, "received", -1)]["slot"]
    kinds = ("sent", "answered", "received")
    return counted(
        _without(events, *(number for kind in kinds for number in places(events, kind, slot=slot)))
    )


def with_an_unheard_question(events: Events) -> Events:
    """A request to which nothing came back stands before the same request again."""
    here = place(events, "sent", 3)
    return counted([*events[:here], copy.deepcopy(events[here]), *events[here:]])


NOTHING = {"kind": "failed", "slot": "i000/c000/n000000", "reason": "the connection broke"}
ORDER: dict[str, tuple[Act, str]] = {
    "a second plan": (inserted("planned", "planned", after=True), r"line 5: 'planned' stands where request"),
    "a second opening with another host": (
        inserted("opened", "opened", after=True, api="http://evil.example"),
        r"line 2: 'opened' stands where the greeting is due",
    ),
    "an opening in the middle": (
        inserted("opened", "released"),
        r"line \d+: 'opened' stands where the receipt",
    ),
    "no greeting": (rewritten(without_a_greeting), r"line 2: 'planned' stands where the greeting is due"),
    "a greeting that the first line denies": (
        rewritten(not_greeted),
        r"line 2: 'sent' hello stands where the plan is due",
    ),
    "a greeting after the plan": (asked_again("hello"), r"line \d+: 'sent' hello stands where request"),
    "a question for the balance after the plan": (
        asked_again("account"),
        r"line \d+: 'sent' account stands where request",
    ),
    "a request again after it was answered": (
        asked_again(None),
        r"line \d+: 'sent' i000/c000/n000000 stands where request",
    ),
    "a request again before its answer was read": (
        rewritten(asked_twice),
        r"line \d+: 'sent' .* stands where what .* brought is due",
    ),
    "an answer that nobody asked for": (
        inserted("answered", "received", where=1),
        r"line \d+: 'answered' .* stands where what .* brought is due",
    ),
    "an answer after what it brought": (
        inserted("answered", "received", where=1, after=True, which=2),
        r"line \d+: 'answered' .* stands where request",
    ),
    "a failure that nobody met": (
        rewritten(lambda events: [*events[:4], NOTHING, *events[4:]]),
        r"line 5: 'failed' i000/c000/n000000 stands where request i000/c000/n000000 is due",
    ),
    "a failure after an answer": (
        rewritten(lambda events: [*events[:6], NOTHING, *events[6:]]),
        r"line 7: 'failed' i000/c000/n000000 stands where what i000/c000/n000000 brought is due",
    ),
    "a question of which nothing came": (
        rewritten(with_an_unheard_question),
        r"line \d+: 'sent' .* stands where what came of request",
    ),
    "an answer to another slot": (
        edited("answered", lambda event: event.update(slot="i000/c000/n000002"), 1),
        r"line \d+: 'answered' i000/c000/n000002 stands where what came of request i000/c000/n000000",
    ),
    "what a call brought, twice": (
        inserted("received", "received", after=True),
        r"line \d+: 'received' .* stands where request",
    ),
    "what two calls brought, exchanged": (
        exchanged("received", 0, 1),
        r"line \d+: 'received' .* stands where what .* brought is due",
    ),
    "what a call brought left out": (
        dropped("received", 2),
        r"line \d+: request i000/c001/n000002 is out of order",
    ),
    "an answer left out": (
        dropped("answered", 3),
        r"line \d+: 'received' .* stands where what came of request",
    ),
    "a call left out": (rewritten(without_a_call), r"line \d+: 'finished' stands where request"),
    "two requests exchanged": (exchanged("sent", 1, 2), r"line \d+: 'sent' .* stands where request"),
    "a receipt before its images": (
        moved("released", 0, "received", 1),
        r"line \d+: 'released' stands where what .* brought is due",
    ),
    "a receipt after its first request": (
        moved("released", 0, "received", -1),
        r"line \d+: 'sent' .* stands where the receipt for iteration 1 is due",
    ),
    "a receipt twice": (
        inserted("released", "released", after=True),
        r"line \d+: 'released' stands where request",
    ),
    "two receipts exchanged": (
        exchanged("released", 0, 1),
        r"line \d+: 'released' stands where the receipt for iteration 1 is due",
    ),
    "a receipt left out": (
        dropped("released", 1),
        r"line \d+: 'sent' .* stands where the receipt for iteration 2",
    ),
    "a closing line in the middle": (
        inserted("finished", "released"),
        r"line \d+: 'finished' stands where the receipt",
    ),
    "a second closing line": (inserted("finished", "finished"), r"line \d+: 'finished' stands where nothing"),
    "a call after the closing line": (
        rewritten(lambda events: _going_on(events)),
        r"line \d+: 'sent' .* stands where nothing",
    ),
    "no closing line": (dropped("finished"), "its record is not anchored, so lines may be missing"),
}
USE = r"line \d+: what it says of the dataset's use does not follow from what was released"


def _assessed(**changes: object) -> Act:
    """Another assessment in the closing line; what is published follows from it."""
    return edited("finished", lambda event: event.update(assessment={**event["assessment"], **changes}))


def _finer(assessment: Event) -> None:
    """Less than a step away, in digits of a forger's choice."""
    assessment["distance"] += 0.001717


ASSESSMENTS: list[tuple[str, str, Act, str]] = [
    ("a dataset that is called nearer than it is", "as-is", _assessed(distance=0.5), USE),
    ("classes that are called further apart", "framed", _assessed(classes_apart=99.0), USE),
    ("classes that are called more alike than they are", "framed", _assessed(agreement=1.0), USE),
    ("an agreement left out", "matched", _assessed(agreement=None), USE),
    ("an agreement that no cosine has", "framed", _assessed(agreement=1.5), DAMAGED),
    (
        "digits after the second",
        "matched",
        edited("finished", lambda event: _finer(event["assessment"])),
        USE,
    ),
    ("a single class's word for several", "as-is", _assessed(classes_apart=None), USE),
    ("a note in an assessment", "as-is", _assessed(note="patient 17"), DAMAGED),
    ("a distance as text", "framed", _assessed(distance="0.5"), DAMAGED),
    ("an assessment left out", "auto", edited("finished", lambda event: event.update(assessment=None)), USE),
    (
        "an assessment of a run that measured nothing",
        "control",
        edited(
            "finished",
            lambda event: event.update(assessment={"classes_apart": 9.0, "distance": 0.5, "agreement": None}),
        ),
        USE,
    ),
]
COUNTS: dict[str, tuple[Act, str]] = {
    "requests in the closing line": (
        edited("finished", lambda event: event.update(sent=event["sent"] + 17)),
        r"line \d+: counts \d+ requests, and \d+ are on record",
    ),
    "an answer's length": (
        edited("answered", lambda event: event.update(wire_bytes=event["wire_bytes"] + 17), 3),
        r"answer .* \(line \d+\): its recorded length is wrong",
    ),
    "the greeting's answer's length": (
        edited("answered", lambda event: event.update(wire_bytes=17)),
        r"answer hello \(line \d+\): its recorded length is wrong",
    ),
    "a refusal's length": (
        rewritten(lambda events: _refused_once(events)),
        r"answer .* \(line \d+\): its recorded length is wrong",
    ),
    "a request's length": (
        edited("sent", lambda event: event.update(wire_bytes=event["wire_bytes"] - 40), 2),
        r"request .* \(line \d+\): its recorded length is wrong",
    ),
    "a key that is longer than any": (
        edited("sent", lambda event: event.update(wire_bytes=event["wire_bytes"] + 5000)),
        r"request hello \(line 2\): its recorded length is wrong",
    ),
    "a key that is longer in one request": (
        edited("sent", lambda event: event.update(wire_bytes=event["wire_bytes"] + 1), 2),
        r"request .* \(line \d+\): was sent with another key",
    ),
    "a body's size": (
        edited("sent", lambda event: event["body"].update(size=event["body"]["size"] + 1), 2),
        r"request .* \(line \d+\): .*body is not what crossed the wire",
    ),
    "a body's digest": (
        edited("answered", lambda event: event["body"].update(sha256="0" * 64), 2),
        r"answer .* \(line \d+\): .*body is not what crossed the wire",
    ),
}


def _going_on(events: Events) -> Events:
    """The last call once more behind the closing line, and a closing line that counts it."""
    again = copy.deepcopy(events[-4:])
    again[-1]["sent"] += 1
    return [*events, *again]


def _refused_once(events: Events) -> Events:
    """A refusal that took place before the first image, with a length of its own."""
    here = place(events, "sent", 1)
    sent, answered = copy.deepcopy(events[here : here + 2])
    refusal = answered | {"status": 503, "wire_bytes": 17}
    return counted([*events[:here], sent, refusal, *events[here:]])


REASONS: dict[str, tuple[Act, str]] = {
    "free text in a failure's reason": (
        rewritten(lambda events: _failed_with(events, "patient 17")),
        r"transcript line \d+ is damaged",
    ),
    "a reason in other letters": (
        rewritten(lambda events: _failed_with(events, "Cut off")),
        r"transcript line \d+ is damaged",
    ),
}


def _failed_with(events: Events, reason: str) -> Events:
    here = place(events, "sent", 1)
    sent = copy.deepcopy(events[here])
    failure = {"kind": "failed", "slot": sent["slot"], "reason": reason}
    return counted([*events[:here], sent, failure, *events[here:]])


FORGERIES: list[Forgery] = [
    *of_family(
        "spelling of a line",
        [
            *(
                (name, "control", respelled(change, kind), told)
                for name, (kind, change, told) in SPELLINGS.items()
            ),
            *((name, "control", edited(kind, change), EDITED) for name, (kind, change) in COERCED.items()),
            *(
                (name, "control", edited(kind, change), DAMAGED)
                for name, (kind, change) in UNREADABLE.items()
            ),
            *((name, "control", act, told) for name, (act, told) in REASONS.items()),
        ],
    ),
    *of_family("order of lines", [(name, "control", act, told) for name, (act, told) in ORDER.items()]),
    *of_family("what a dataset is worth", ASSESSMENTS),
    *of_family("counts", [(name, "control", act, told) for name, (act, told) in COUNTS.items()]),
]
