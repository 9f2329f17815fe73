"""Extensions that nobody asked for, that asked for something else, or that varied what was not released."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

from leaks.forgeries.forging import (
    Act,
    Events,
    Forgery,
    Row,
    edited,
    forged,
    made_to_fit,
    place,
    places,
    republished,
    respelt,
    rewritten,
    stored,
)
from leaks.forgeries.lines import DAMAGED, dropped, inserted, moved, stands
from leaks.forgeries.requests import BODY
from pcevolve.transcript import RunReader
from pcevolve_shared import images
from support.provider import png

ANCHOR = r"release/manifest.json is not what the record gives"
USEFUL = {"classes_apart": 9.0, "distance": 0.1, "agreement": None}
CLOSED = stands("'sent'.*", "nothing, for the record is closed is due")


def asking(**changes: object) -> Act:
    """The extension asks for something else than was sent."""
    return edited("extended", lambda event: event["extension"].update(changes))


def carrying(find: Callable[[RunReader], bytes], slot: str = "y001/c000/n000000") -> Act:
    """A request of the extension that varies another image."""
    return respelt(
        lambda values, root: values.update(image=images.to_base64(find(RunReader.strict(root)))), slot
    )


def output(slot: str, index: int = 0) -> Callable[[RunReader], bytes]:
    """An image that the provider sent."""
    return lambda run: run.bodies.file(run.outputs[slot][index])


def chosen(label: str, index: int) -> Callable[[RunReader], bytes]:
    """An image that the last release selected."""
    return lambda run: run.bodies.file(run.receipts[-1].of(label)[index].digest)


def without_what_it_asked_for(events: Events) -> Events:
    """The extension is on record and closed, and nothing between."""
    begun = place(events, "extended")
    return [*events[: begun + 1], _closing(events[:begun])]


def never_closed(events: Events) -> Events:
    """The extension is cut off before its last call."""
    return events[: places(events, "sent")[-1]]


def once_more(events: Events) -> Events:
    """Another extension behind the last, of which nothing was sent."""
    return [*events, copy.deepcopy(events[place(events, "extended")])]


def _closing(events: Events) -> dict[str, object]:
    return {"kind": "finished", "sent": len(places(events, "sent")), "assessment": None}


def as_if_planned(events: Events) -> Events:
    """The plan is fixed with the extension in it."""
    asked = events.pop(place(events, "extended"))
    events.pop(place(events, "finished"))
    events[place(events, "planned")]["plan"]["extended"] = [asked["extension"]]
    return events


def with_a_release(events: Events) -> Events:
    """A draw that nobody paid for, in the middle of an extension."""
    here = place(events, "extended") + 1
    return [*events[:here], copy.deepcopy(events[place(events, "released")]), *events[here:]]


def left_out(root: Path) -> None:
    """An image that was added is not in the release, and the manifest does not know it."""
    next((root / "release").glob("*/y001-*.png")).unlink()
    made_to_fit(root)


def of_the_owner_s(root: Path) -> None:
    """A picture of the owner's in the place of one that was added."""
    next((root / "release").glob("*/y001-*.png")).write_bytes(png(4242))
    made_to_fit(root)


def brought_something_else(root: Path) -> None:
    """Let the record say that an extension brought another picture, released as such."""
    digest = stored(root, png(4242))
    slot = "y001/c000/n000000"
    edited("received", lambda event: event["outputs"].__setitem__(0, digest), slot=slot)(root)
    republished(root)


def uncounted(events: Events) -> Events:
    """The first closing line counts what came after it."""
    events[place(events, "finished")]["sent"] = events[-1]["sent"]
    return events


def unselected(run: RunReader) -> bytes:
    kept = {each.digest for each in run.receipts[-1].of("cut")}
    made = (
        digest
        for slot, made in run.outputs.items()
        if "/c000/" in slot and slot.startswith("i")
        for digest in made
    )
    return run.bodies.file(next(each for each in made if each not in kept))


PICTURE = r"release/.*y001-.* is "
UNSAID = r"line \d+: says something of the dataset's use, of which an extension says nothing"
FAMILY = "extensions"
AGAINST_LARGER: dict[str, Row] = {
    "asked for twice": (inserted("extended", "extended", after=True), stands("'extended'", "request y001")),
    "asked for again at the end": (rewritten(once_more), ANCHOR),
    "never asked for": (dropped("extended"), CLOSED),
    "never closed": (rewritten(never_closed), ANCHOR),
    "asked for before the run was closed": (
        moved("extended", 0, "finished", 0),
        stands("'extended'", "the closing line"),
    ),
    "the run was never closed before": (dropped("finished", 0), stands("'extended'", "the closing line")),
    "nothing came of it": (rewritten(without_what_it_asked_for), stands("'finished'", "request y001")),
    "as if it had been planned": (rewritten(as_if_planned), DAMAGED),
    "one more than was asked for": (asking(more=3), stands(".*", "request y001")),
    "one less than was asked for": (asking(more=1), r"request y001.* \(line \d+\): "),
    "none at all": (asking(more=0), DAMAGED),
    "more than anybody may ask for": (asking(more=1001), DAMAGED),
    "another strength": (asking(strength=0.25), BODY),
    "a strength that is none": (asking(strength=1.5), DAMAGED),
    "a key of its own": (asking(note="patient 17"), DAMAGED),
    "a release in the middle": (rewritten(with_a_release), stands("'released'", "request y001")),
    "the first count": (rewritten(uncounted), r"line \d+: counts \d+ requests, and \d+ are on record"),
    "an image of an earlier round": (carrying(output("i000/c000/n000000")), BODY),
    "another image of the dataset": (carrying(output("i002/c000/n000000", 1)), BODY),
    "an image of another class": (carrying(output("i002/c001/n000000")), BODY),
    "a picture of the owner's": (carrying(lambda run: png(4242)), BODY),
    "left out of the release": (left_out, PICTURE + "missing"),
    "another picture in the release": (of_the_owner_s, PICTURE + "not the image that the provider sent"),
    "another picture brought": (brought_something_else, r"answer y001.* \(line \d+\): brought other outputs"),
}
AGAINST_SELECTION: dict[str, Row] = {
    "another word on the dataset's use": (
        edited("finished", lambda event: event.update(assessment=USEFUL), -1),
        UNSAID,
    ),
    "another selected image": (carrying(chosen("cut", 1)), BODY),
    "an image that was not selected": (carrying(unselected), BODY),
    "an image that was added": (carrying(output("y001/c000/n000000"), "y002/c000/n000000"), BODY),
}
FORGERIES: list[Forgery] = [
    *forged(FAMILY, AGAINST_LARGER, "larger"),
    *forged(FAMILY, AGAINST_SELECTION, "larger selection"),
]
