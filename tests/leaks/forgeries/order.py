"""Lines of the record in another order, more of them or fewer."""

from __future__ import annotations

import copy
from collections.abc import Callable

from leaks.forgeries.forging import Act, Event, Events, Forgery, edited, forged, place, places, rewritten
from leaks.forgeries.spellings import DAMAGED, setting


def stands(what: str, where: str) -> str:
    """Quote an audit on a line in the wrong place."""
    return rf"line \d+: {what} stands where {where}"


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


REASONS = {
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
    "no closing line": (dropped("finished"), "the run did not finish, so lines may be missing"),
}
FORGERIES: list[Forgery] = [
    *forged("spelling of a line", REASONS, fault=DAMAGED),
    *forged("order of lines", ORDER),
]
