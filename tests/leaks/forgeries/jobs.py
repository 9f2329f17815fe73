"""Steps of jobs that do not follow from the answers before them, and ends of jobs that had one or had none."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

from leaks.forgeries.forging import (
    Act,
    Event,
    Events,
    Forgery,
    Row,
    edited,
    embodied,
    forged,
    place,
    rewritten,
)
from leaks.forgeries.order import counted, stands
from leaks.forgeries.requests import headed

CALL = "i000/c000/n000000"
FIRST, LAST = f"{CALL}/job0", f"{CALL}/job1"
OTHER_STEP = "i000/c001/n000000/job0"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ELSEWHERE = r"request .*/job0 \(line \d+\): went to GET .*, not where the plan says"
CANCELLED_LATE = stands(f"'sent' {CALL}/cancel0", "")


def at(url: Callable[[str], str]) -> Act:
    """The first question after a job, sent to another address; its length counted with that."""

    def change(event: Event) -> None:
        before = event["url"]
        event["url"] = url(before)
        event["wire_bytes"] += len(event["url"]) - len(before)

    return edited("sent", change, slot=FIRST)


def put_in(slot: str, after: str, change: Callable[[Event], object] = lambda event: None) -> Act:
    """A step like the last of a job, with its answer, once more under a name and behind another."""

    def insert(events: Events) -> Events:
        sent, told = (copy.deepcopy(events[place(events, kind, slot=LAST)]) for kind in ("sent", "answered"))
        change(sent)
        more = [sent | {"slot": slot}, told | {"slot": slot}]
        here = place(events, "answered", slot=after) + 1
        return counted([*events[:here], *more, *events[here:]])

    return rewritten(insert)


def as_cancellation(event: Event) -> None:
    """The request that ends the job, but for its body."""
    event |= {"method": "POST", "url": event["url"] + "/cancel"}


def drop(*slots: str) -> Act:
    """All lines of some steps."""
    return rewritten(lambda events: counted([each for each in events if each.get("slot") not in slots]))


def given_up(events: Events) -> Events:
    """A job that went on when its outputs went on record as missing."""
    left = [each for each in events if each.get("slot") not in (LAST, f"{CALL}/link0", f"{CALL}/link1")]
    left[place(left, "received", slot=CALL)]["outputs"] = [EMPTY, EMPTY]
    return counted(left)


def ordered_again(events: Events) -> Events:
    """A job submitted once more while it goes on."""
    here = place(events, "sent", slot=LAST)
    more = [copy.deepcopy(events[place(events, kind, slot=CALL)]) for kind in ("sent", "answered")]
    return counted([*events[:here], *more, *events[here:]])


def swapped(events: Events) -> Events:
    """The two questions after a job in each other's place."""
    names = {FIRST: LAST, LAST: FIRST}
    return [
        {**each, "slot": names.get(each.get("slot", ""), each["slot"])} if "slot" in each else each
        for each in events
    ]


def words_in(body: bytes, root: Path) -> bytes:
    return body + b'{"patient": 17}'


STEPS: dict[str, Row] = {
    "a question after another job": (at(lambda url: url[:-1] + "7"), ELSEWHERE),
    "a question with a word of one's own": (at(lambda url: f"{url}?patient=17"), ELSEWHERE),
    "a question to another host": (at(lambda url: url.replace("127.0.0.1:9", "127.0.0.1:8")), ELSEWHERE),
    "a question that is posted": (
        edited("sent", lambda event: event.update(method="POST"), slot=FIRST),
        r"request .*/job0 \(line \d+\): went to POST .*, not where the plan says",
    ),
    "a question with a cookie": (
        headed(lambda headers: headers.append(["Cookie", "patient=17"]), 0, slot=FIRST),
        r"request .*/job0 \(line \d+\): carried headers that the plan does not give",
    ),
    "a question with a body": (
        embodied(words_in, OTHER_STEP),
        r"request .*/job0 \(line \d+\): its body differs from what the plan and the receipt give",
    ),
    "a question of another length": (
        edited("sent", lambda event: event.update(wire_bytes=event["wire_bytes"] + 1), slot=FIRST),
        r"\(line \d+\): (its recorded length is wrong|was sent with another key)",
    ),
    "a question too many": (put_in(f"{CALL}/job2", LAST), stands(f"'sent' {CALL}/job2", "")),
    "a question too few": (drop(FIRST), stands(f"'sent' {LAST}", "")),
    "questions exchanged": (rewritten(swapped), stands(f"'sent' {LAST}", "")),
    "a question of another name": (put_in(f"{CALL}/job17", FIRST), stands(f"'sent' {CALL}/job17", "")),
    "a job that is over, ended": (put_in(f"{CALL}/cancel0", LAST, as_cancellation), CANCELLED_LATE),
    "a job that goes on, ended in a way of one's own": (
        put_in(f"{CALL}/cancel0", FIRST),
        r"request .*/cancel0 \(line \d+\): went to GET",
    ),
    "a job that goes on, ended at second hand": (
        put_in(f"{CALL}/cancel1", FIRST, as_cancellation),
        stands(f"'sent' {CALL}/cancel1", ""),
    ),
    "a job that goes on, given up": (
        rewritten(given_up),
        stands(f"'received' {CALL}", f"request {LAST} is due"),
    ),
    "a job that goes on, submitted again": (
        rewritten(ordered_again),
        stands(f"'sent' {CALL}", f"request {LAST} is due"),
    ),
}
FORGERIES: list[Forgery] = forged("forged steps of jobs", STEPS, "jobs")
