"""Requests, answers and bodies in a whole record that are not what plan, receipts and provider gave."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from leaks.forgeries.forging import (
    SECRET,
    Act,
    Event,
    Events,
    Forgery,
    edited,
    made_to_fit,
    of_family,
    place,
    places,
    rewritten,
    stored,
)
from pcevolve.providers.codec import encode_json
from pcevolve.transcript.bodies import Bodies, BodyRef
from pcevolve_shared import images
from support.forge import forge, rewritten_body
from support.provider import png

BODY = r"request .* \(line \d+\): its body differs from what the plan and the receipt give"
HEADERS = r"request .* \(line \d+\): carried headers that"
ELSEWHERE = r"request .* \(line \d+\): went to .*, not where the plan says"


def sent_with(slot: str, **fields: object) -> Act:
    """The last request of a stage with other fields, as it would be written down."""

    def act(root: Path) -> None:
        def edit(body: bytes) -> bytes:
            values = json.loads(body) | fields
            return encode_json(values)

        def change(events: Events) -> Events:
            here = max(each for each in places(events, "sent") if events[each]["slot"].startswith(slot))
            events[here] = rewritten_body(root, events[here], edit)
            return events

        forge(root, change)
        made_to_fit(root)

    return act


def headed(
    change: Callable[[list[list[str]]], object], which: int = 2, kind: str = "sent", **fields: object
) -> Act:
    """A request with other headers, its length counted with them."""

    def edit(event: Event) -> None:
        before = sum(len(name) + len(value) for name, value in event["headers"]) + 4 * len(event["headers"])
        change(event["headers"])
        after = sum(len(name) + len(value) for name, value in event["headers"]) + 4 * len(event["headers"])
        event["wire_bytes"] += after - before

    return edited(kind, edit, which, **fields)


def key_moved(headers: list[list[str]]) -> None:
    """The key's header in another place: six places for two and a half bits a request."""
    key = next(each for each in headers if each[0] == "Authorization")
    headers.remove(key)
    headers.insert(0, key)


def key_twice(headers: list[list[str]]) -> None:
    headers.insert(4, ["Authorization", "(hidden)"])


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


def outputs_exchanged(events: Events) -> Events:
    """What the first call brought, in another order."""
    event = events[place(events, "received")]
    event["outputs"].reverse()
    return events


def another_output(root: Path) -> None:
    """A call that brought a private picture, so the record says."""
    edited("received", lambda event: event["outputs"].__setitem__(0, stored(root, png(4242))))(root)


def answers_exchanged(events: Events) -> Events:
    """The answers to two calls, each under the other's slot."""
    one, other = place(events, "answered", 1), place(events, "answered", 2)
    for name in ("body", "headers", "wire_bytes"):
        events[one][name], events[other][name] = events[other][name], events[one][name]
    return events


def unread_output(root: Path) -> None:
    """An output that nobody chose, with other content under its name: the record's text holds the honest one."""
    events = [
        json.loads(line)["event"] for line in (root / "transcript" / "log.jsonl").read_text().splitlines()
    ]
    ahead = next(each for each in events if each["kind"] == "received" and each["slot"].startswith("l"))
    (root / "transcript" / "bodies" / ahead["outputs"][0]).write_bytes(png(4242))


def unread_output_of_another(root: Path) -> None:
    """Looking ahead brought a private picture, so the record says; nobody sends it back or releases it."""
    private = stored(root, png(4242))

    def change(events: Events) -> Events:
        ahead = next(each for each in events if each["kind"] == "received" and each["slot"].startswith("l"))
        ahead["outputs"][0] = private
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


def link_elsewhere(url: str) -> Act:
    """An image fetched from where the provider had not pointed."""
    return edited("sent", lambda event: event.update(url=url), slot="i000/c000/n000000/link0")


PRIVATE = images.to_base64(png(4242))
FIELDS: dict[str, tuple[str, dict[str, object]]] = {
    "a private picture": ("i002/", {"image": PRIVATE}),
    "a private picture in a request for text": ("i000/", {"image": PRIVATE}),
    "words in a prompt": ("i000/", {"prompt": "A leather texture image with cut of patient 17"}),
    "a seed": ("i001/", {"seed": 17}),
    "a strength": ("i002/", {"strength": 0.79}),
    "a field of its own": ("i000/", {"user": "patient 17"}),
}
FORGERIES: list[Forgery] = of_family(
    "forged requests",
    [
        *(
            (f"body: {name}", "control", sent_with(slot, **fields), BODY)
            for name, (slot, fields) in FIELDS.items()
        ),
        ("body: another image looked ahead on", "evolved", sent_with("l000/", image=PRIVATE), BODY),
        (
            "another host",
            "control",
            edited(
                "sent", lambda each: each.update(url=each["url"].replace("127.0.0.1:9", "evil.example")), 3
            ),
            ELSEWHERE,
        ),
        (
            "a query",
            "control",
            edited("sent", lambda each: each.update(url=each["url"] + "?p=17"), 3),
            ELSEWHERE,
        ),
        ("another method", "control", edited("sent", lambda each: each.update(method="PUT"), 3), ELSEWHERE),
        ("a header of its own", "control", headed(lambda headers: headers.append(["X-Ward", "3"])), HEADERS),
        ("two headers exchanged", "control", headed(lambda headers: headers.reverse()), HEADERS),
        (
            "a header in other letters",
            "control",
            headed(lambda headers: headers[1].__setitem__(0, "user-agent")),
            HEADERS,
        ),
        ("the key in another place", "control", headed(key_moved), HEADERS),
        ("the key twice", "control", headed(key_twice), HEADERS),
        (
            "the key in clear",
            "control",
            headed(lambda headers: headers[4].__setitem__(1, "Bearer 17")),
            HEADERS,
        ),
        (
            "the key left out of one request",
            "control",
            edited("sent", without_key, 3),
            r"request .* \(line \d+\): was sent with another key",
        ),
        (
            "a link that nobody pointed to",
            "linked",
            link_elsewhere("http://127.0.0.1:8/patient17.png"),
            r"request .*/link0 \(line \d+\): the provider had not pointed there",
        ),
        (
            "a link that carries the key",
            "linked",
            headed(
                lambda headers: headers.append(["Authorization", "(hidden)"]),
                0,
                slot="i000/c000/n000000/link0",
            ),
            r"request .*/link0 \(line \d+\): carried headers that no link is followed with",
        ),
        (
            "a link of another number",
            "linked",
            rewritten(lambda events: _renumbered(events)),
            r"(request|line) .*link7",
        ),
    ],
) + of_family(
    "forged answers and bodies",
    [
        (
            "outputs in another order",
            "control",
            rewritten(outputs_exchanged),
            r"answer .* \(line \d+\): brought other outputs than are on record",
        ),
        (
            "an output that the provider did not send",
            "control",
            another_output,
            r"answer .* \(line \d+\): brought other outputs than are on record",
        ),
        (
            "an output that the provider did not send and nobody reads again",
            "slashed",
            unread_output_of_another,
            r"answer l.* \(line \d+\): brought other outputs than are on record",
        ),
        (
            "two answers exchanged",
            "control",
            rewritten(answers_exchanged),
            r"answer .* \(line \d+\): brought other outputs than are on record",
        ),
        (
            "an image left in its text",
            "control",
            in_another_way(whole=False),
            r"answer .* \(line \d+\): its body is written down in another way",
        ),
        (
            "a text kept as a file",
            "control",
            in_another_way(whole=True),
            r"answer .* \(line \d+\): its body is written down in another way",
        ),
        (
            "an output that nobody reads again",
            "slashed",
            unread_output,
            r"transcript/bodies/[0-9a-f]{64}: transcript file .* was changed",
        ),
        ("a stored file changed", "control", changed_body, r"\(line \d+\): transcript file .* was changed"),
        (
            "a stored file under another name",
            "control",
            renamed_body,
            r"transcript/bodies/[0-9a-f]{64} is missing",
        ),
    ],
)


def _renumbered(events: Events) -> Events:
    """What lies behind a link, under a number that no link has."""
    for event in events:
        if event.get("slot", "").endswith("/link0"):
            event["slot"] = event["slot"].removesuffix("0") + "7"
    return events
