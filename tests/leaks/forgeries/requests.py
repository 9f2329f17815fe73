"""Requests, answers and bodies in a whole record that are not what plan, receipts and provider gave."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from pathlib import Path

from leaks.forgeries.figures import KEY
from leaks.forgeries.forging import (
    SECRET,
    Act,
    Event,
    Events,
    Forgery,
    Row,
    edited,
    events_of,
    forged,
    made_to_fit,
    places,
    respelt,
    rewritten,
    sent_with,
    stored,
)
from leaks.forgeries.order import counted, stands
from leaks.forgeries.spellings import DAMAGED
from pcevolve.public.transcript.bodies import Bodies, BodyRef
from pcevolve_shared import images
from support.provider import png

BODY = r"request .* \(line \d+\): its body differs from what the plan and the receipt give"
HEADERS = r"request .* \(line \d+\): carried headers that"
ELSEWHERE = r"request .* \(line \d+\): went to .*, not where the plan says"
OUTPUTS = r"answer .* \(line \d+\): brought other outputs than are on record"
SPELT = r"answer .* \(line \d+\): its body is written down in another way"


def headed(change: Callable[[list[list[str]]], object], which: int = 2, **fields: object) -> Act:
    """A request with other headers, its length counted with them."""

    def size(headers: list[list[str]]) -> int:
        return sum(len(name) + len(value) + 4 for name, value in headers)

    def edit(event: Event) -> None:
        before = size(event["headers"])
        change(event["headers"])
        event["wire_bytes"] += size(event["headers"]) - before

    return edited("sent", edit, which, **fields)


def key_moved(headers: list[list[str]]) -> None:
    """The key's header in another place: six places for two and a half bits a request."""
    key = next(each for each in headers if each[0] == "Authorization")
    headers.remove(key)
    headers.insert(0, key)


def without_key(event: Event) -> None:
    """The key left out of one request, and counted as left out."""
    event["headers"] = [each for each in event["headers"] if each[0] != "Authorization"]
    event["wire_bytes"] -= len("Authorization: Bearer secret-key\r\n")


def in_another_way(whole: bool) -> Act:
    """A body with an image written down in another way: as one stored file, or as text that the image is left in."""

    def act(root: Path) -> None:
        bodies = Bodies(root / "transcript" / "bodies")

        def edit(event: Event) -> None:
            data = bodies.get(BodyRef(**event["body"]))
            event["body"]["text"] = None if whole else data.decode()
            if whole:
                stored(root, data)

        edited("answered", edit, 2)(root)
        made_to_fit(root)

    return act


def another_output(root: Path) -> None:
    """A call that brought a private picture, so the record says."""
    edited("received", lambda event: event["outputs"].__setitem__(0, stored(root, png(4242))))(root)


def answers_exchanged(events: Events, one: int, other: int) -> Events:
    """Two answers, by their places, each under the other's slot."""
    for name in ("body", "headers", "wire_bytes"):
        events[one][name], events[other][name] = events[other][name], events[one][name]
    return events


def two_answers_exchanged(events: Events) -> Events:
    return answers_exchanged(events, *places(events, "answered")[1:3])


def ahead(events: Events) -> Event:
    return next(each for each in events if each["kind"] == "received" and each["slot"].startswith("l"))


def unread_output(root: Path) -> None:
    """An output that nobody chose, with other content under its name: the record's text holds the honest one."""
    (root / "transcript" / "bodies" / ahead(events_of(root))["outputs"][0]).write_bytes(png(4242))


def unread_output_of_another(root: Path) -> None:
    """Looking ahead brought a private picture, so the record says; nobody sends it back or releases it."""
    private = stored(root, png(4242))

    def change(events: Events) -> Events:
        ahead(events)["outputs"][0] = private
        return events

    rewritten(change)(root)
    made_to_fit(root)


def changed_body(root: Path) -> None:
    """The first stored file that an answer is made of, changed."""
    path = sorted((root / "transcript" / "bodies").iterdir())[0]
    path.write_bytes(path.read_bytes() + SECRET)


def renamed_body(root: Path) -> None:
    """A stored file under the name of its new content: the line still names the old."""
    path = sorted((root / "transcript" / "bodies").iterdir())[0]
    path.rename(path.with_name(hashlib.sha256(SECRET).hexdigest()))


PRIVATE = images.to_base64(png(4242))
FIELDS: dict[str, tuple[str, dict[str, object]]] = {
    "a private picture": ("i002/", {"image": PRIVATE}),
    "a private picture in a request for text": ("i000/", {"image": PRIVATE}),
    "words in a prompt": ("i000/", {"prompt": "A leather texture image with cut of patient 17"}),
    "a seed": ("i001/", {"seed": 17}),
    "a strength": ("i002/", {"strength": 0.79}),
    "a field of its own": ("i000/", {"user": "patient 17"}),
}


def renumbered(events: Events) -> Events:
    """Answer what lies behind a link, under a number that no link has."""
    for event in events:
        if event.get("slot", "").endswith("/link0"):
            event["slot"] = event["slot"].removesuffix("0") + "7"
    return events


def fielded(change: Callable[[dict], object], kind: str = "sent") -> Act:
    """The first request of a run whose fields have an API's own names, or the answer to it, with other fields."""
    return respelt(lambda values, root: change(values), "i000/c000/n000000", kind)


def renamed(old: str, new: str) -> Act:
    """A field under another name than the plan has for it, in its place."""

    def change(values: dict) -> None:
        before = dict(values)
        values.clear()
        values.update((new if name == old else name, value) for name, value in before.items())

    return fielded(change)


def planned(**changes: object) -> Act:
    """A plan that says otherwise how a request takes its fields."""
    return edited("planned", lambda event: event["plan"]["modality"].update(changes))


def answered_by(model: str, name: str | None = None) -> Act:
    """All that came from another model, which the run kept; the plan may say that this is its name."""

    def act(root: Path) -> None:
        fielded(lambda values: values.update(model=model), "answered")(root)
        if name is not None:
            edited("planned", lambda event: event["plan"]["provider"].update(answered_by=name))(root)
        made_to_fit(root)

    return act


def at_first(change: Callable[[Event], object]) -> Act:
    """The second request for an image, changed in what it says of itself."""
    return edited("sent", change, 3)


OTHER_MODEL = stands("'received' i000/c000/n000000", "request i000/c000/n000000 is due")
LINK = "i000/c000/n000000/link0"
ADDRESSES: dict[str, Row] = {
    "another host": at_first(
        lambda each: each.update(url=each["url"].replace("127.0.0.1:9", "evil.example"))
    ),
    "a query": at_first(lambda each: each.update(url=each["url"] + "?p=17")),
    "another method": at_first(lambda each: each.update(method="PUT")),
}
HEADED: dict[str, Row] = {
    "a header of its own": headed(lambda headers: headers.append(["X-Ward", "3"])),
    "two headers exchanged": headed(lambda headers: headers.reverse()),
    "a header in other letters": headed(lambda headers: headers[1].__setitem__(0, "user-agent")),
    "the key in another place": headed(key_moved),
    "the key twice": headed(lambda headers: headers.insert(4, ["Authorization", "(hidden)"])),
    "the key in clear": headed(lambda headers: headers[4].__setitem__(1, "Bearer 17")),
}
POINTED = r"request .*/link\d \(line \d+\): the provider had not pointed there"


def followed(*order: int) -> Act:
    """The images behind the two links of the first answer fetched in another order, or another number of times."""

    def change(events: Events) -> Events:
        at = places(events, "sent", slot=LINK)[0]
        pairs = [copy.deepcopy(events[at + 2 * number : at + 2 * number + 2]) for number in (0, 1)]
        return counted(
            [*events[:at], *(each for number in order for each in pairs[number]), *events[at + 4 :]]
        )

    return rewritten(change)


def asked_for_other_links(events: Events) -> Events:
    """A call asked again in place of following what its answer points to."""
    at = places(events, "sent", slot=LINK)[0]
    return counted([*events[:at], *copy.deepcopy(events[at - 2 : at]), *events[at:]])


FOLLOWED: dict[str, Row] = {
    "two links in another order": (followed(1, 0), POINTED),
    "a link twice": (followed(0, 0, 1), POINTED),
    "a call again before its links": (
        rewritten(asked_for_other_links),
        stands("'sent' i000/c000/n000000", "an image that the answer to i000/c000/n000000 points to is due"),
    ),
    "a link that nobody pointed to": (
        edited("sent", lambda event: event.update(url="http://127.0.0.1:8/patient17.png"), slot=LINK),
        r"request .*/link0 \(line \d+\): the provider had not pointed there",
    ),
    "a link that carries the key": (
        headed(lambda headers: headers.append(["Authorization", "(hidden)"]), 0, slot=LINK),
        r"request .*/link0 \(line \d+\): carried headers that no link is followed with",
    ),
    "a link that carries a cookie": (
        headed(lambda headers: headers.append(["Cookie", "patient=17"]), 0, slot=LINK),
        r"request .*/link0 \(line \d+\): carried headers that no link is followed with",
    ),
    "a link that was posted to": (
        edited("sent", lambda event: event.update(method="POST"), slot=LINK),
        r"request .*/link0 \(line \d+\): went to .*, not where the plan says",
    ),
    "a link of another length": (
        edited("sent", lambda event: event.update(wire_bytes=event["wire_bytes"] + 1), slot=LINK),
        r"request .*/link0 \(line \d+\): its recorded length is wrong",
    ),
    "a link of another number": (rewritten(renumbered), r"(request|line) .*link7"),
}
ANSWERED: dict[str, Row] = {
    "outputs in another order": (edited("received", lambda event: event["outputs"].reverse()), OUTPUTS),
    "an output that the provider did not send": (another_output, OUTPUTS),
    "two answers exchanged": (rewritten(two_answers_exchanged), OUTPUTS),
    "an image left in its text": (in_another_way(whole=False), SPELT),
    "a text kept as a file": (in_another_way(whole=True), SPELT),
    "a stored file changed": (changed_body, r"\(line \d+\): transcript file .* was changed"),
    "a stored file under another name": (renamed_body, r"transcript/bodies/[0-9a-f]{64} is missing"),
}
UNREAD: dict[str, Row] = {
    "an output that the provider did not send and nobody reads again": (
        unread_output_of_another,
        OUTPUTS.replace("answer ", "answer l"),
    ),
    "an output that nobody reads again": (
        unread_output,
        r"transcript/bodies/[0-9a-f]{64}: transcript file .* was changed",
    ),
}
NAMED: dict[str, Row] = {
    "a field by its usual name": (renamed("max_completion_tokens", "max_tokens"), BODY),
    "a field by a name of its own": (renamed("max_completion_tokens", "patient_17"), BODY),
    "a field that is left out": (fielded(lambda values: values.update(temperature=0.17)), BODY),
    "another value under its name": (fielded(lambda values: values.update(max_completion_tokens=17)), BODY),
    "both names": (fielded(lambda each: each.update(max_tokens=each["max_completion_tokens"])), BODY),
    "a plan with the usual names": (planned(fields=["temperature="]), BODY),
    "a plan that leaves none out": (
        planned(fields=["max_tokens=max_completion_tokens"], temperature=1.0),
        BODY,
    ),
    "a plan that renames what is said": (planned(fields=["seed=messages"]), DAMAGED),
    "a plan whose rule is words": (planned(fields=["seed=patient 17"]), DAMAGED),
    "an answer by another model": (answered_by("another-model"), OTHER_MODEL),
    "an answer by neither of two names": (answered_by("another-model", "third-model"), OTHER_MODEL),
    "a plan that names the model otherwise than all answers": (
        edited("planned", lambda event: event["plan"]["provider"].update(model="another-model")),
        BODY,
    ),
}
FORGERIES: list[Forgery] = [
    *forged(
        "forged requests",
        {f"body: {name}": sent_with(slot, **fields) for name, (slot, fields) in FIELDS.items()},
        fault=BODY,
    ),
    *forged(
        "forged requests",
        {"body: another image looked ahead on": sent_with("l000/", image=PRIVATE)},
        "evolved",
        fault=BODY,
    ),
    *forged("forged requests", ADDRESSES, fault=ELSEWHERE),
    *forged("forged requests", HEADED, fault=HEADERS),
    *forged("forged requests", {"the key left out of one request": (at_first(without_key), KEY)}),
    *forged("forged requests", FOLLOWED, "linked"),
    *forged("forged answers and bodies", ANSWERED),
    *forged("forged answers and bodies", UNREAD, "slashed"),
    *forged("forged fields", NAMED, "renamed"),
]
