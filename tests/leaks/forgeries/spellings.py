"""Lines of the record in another spelling, or with what none of their kind has: bits between the lines."""

from __future__ import annotations

from collections.abc import Callable

from leaks.forgeries.forging import Event, Forgery, edited, forged, replaced, respelled

EDITED, DAMAGED = r"transcript line \d+ was edited", r"transcript line \d+ (was edited|is damaged)"
NOTE = {"note": "patient 17"}
Change = Callable[[Event], object]


def setting(**fields: object) -> Change:
    return lambda event: event.update(fields)


def cast(name: str, kind: type) -> Change:
    """A field coerced to another type."""
    return lambda event: event.update({name: kind(event[name])})


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
FORGERIES: list[Forgery] = [
    *forged("spelling of a line", SPELLINGS, fault=EDITED),
    *forged("spelling of a line", UNREADABLE, fault=DAMAGED),
]
