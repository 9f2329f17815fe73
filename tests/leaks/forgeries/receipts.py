"""Receipts that pay, name or say something else than plan, pools and measurement give."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from leaks.forgeries.forging import (
    SECRET,
    Act,
    Event,
    Forgery,
    Row,
    forged,
    made_to_fit,
    republished,
    rewritten,
    stored,
)
from leaks.forgeries.order import stands
from leaks.forgeries.spellings import DAMAGED
from pcevolve.public.transcript.reader import RunReader
from support.forge import Populations

Values = dict[str, object]
Change = Callable[[Values], object]
Arrays = dict[str, np.ndarray]
Measured = Callable[[Arrays], Arrays]
WHERE = r"receipt for iteration \d+: "
PRICE = WHERE + "not the planned price or mechanism"
ANOTHER = WHERE + "for another run or relation"
SHAPE = WHERE + "names other classes or numbers of prototypes than the plan"
FOLLOWS = WHERE + "its choices do not follow from what was measured"
FORM = WHERE + "what was measured has not the form that its method gives"
UNPAID = WHERE + "names a measurement that nobody paid for"
SAID = WHERE + "says something that the plan does not leave open"
POOL = WHERE + "names an image that is not among those it chose from"
NUMBERS = WHERE + "its numbers are none that a release of the appearance gives"
OTHER_CLASS = r"request .*: varies an image of another class, or of no earlier round"
NO_NAME = r"transcript/bodies/.* is missing"
FLOATS = np.frombuffer(SECRET[:16], dtype=np.float64)
LOOK = [0.2, 0.7, 0.0, 0.9, 0.4, 0.6]


def receipted(change: Change, iteration: int = 1, follow: Callable[[Path], object] = made_to_fit) -> Act:
    """One receipt changed in a whole chain; what is published follows from it."""

    def edit(events: list[Event]) -> list[Event]:
        change(_of(events, iteration))
        return events

    def act(root: Path) -> None:
        rewritten(edit)(root)
        follow(root)

    return act


def followed(change: Change, iteration: int) -> Act:
    """One receipt changed, and the images of the release made anew by it."""
    return receipted(change, iteration, republished)


def _of(events: list[Event], iteration: int) -> Values:
    receipts = (event["receipt"] for event in events if event["kind"] == "released")
    return next(each for each in receipts if each["iteration"] == iteration)


def said(**fields: object) -> Change:
    return lambda receipt: receipt.update(fields)


def priced(parameter: str) -> Change:
    return lambda receipt: receipt["events"][0].update(parameter=parameter)


def chosen(receipt: Values, place: int = 0) -> list[dict[str, str]]:
    return receipt["choices"][place]["chosen"]


def reverse(receipt: Values) -> None:
    chosen(receipt).reverse()


def exchange_classes(receipt: Values) -> None:
    receipt["choices"][0]["chosen"] = receipt["choices"][1]["chosen"]


def choose_more(receipt: Values) -> None:
    chosen(receipt).append(copy.deepcopy(chosen(receipt)[0]))


def exchange_bytes(receipt: Values) -> None:
    """A candidate's name with another candidate's bytes."""
    chosen(receipt)[0]["digest"] = chosen(receipt)[1]["digest"]


def exchange_look(receipt: Values) -> None:
    receipt["values"] = [1.0 - receipt["values"][0]]


def digest_of(data: bytes) -> Act:
    """A candidate's name with bytes that the provider never sent."""

    def act(root: Path) -> None:
        digest = stored(root, data)
        followed(lambda receipt: chosen(receipt)[0].update(digest=digest), 2)(root)

    return act


def from_round(iteration: int, of: int) -> Act:
    """A candidate of a round that this receipt does not choose from, and the requests that send it back."""

    def act(root: Path) -> None:
        first = _pool(root, of)[0]
        receipted(lambda receipt: chosen(receipt)[0].update(id=first.id, digest=first.digest), iteration)(
            root
        )

    return act


def other_of_pool(iteration: int, act: Callable[[Change, int], Act]) -> Act:
    """One chosen candidate exchanged for another that could have been chosen."""

    def exchange(root: Path) -> None:
        pool = _pool(root, iteration)

        def change(receipt: Values) -> None:
            taken = {each["id"] for each in chosen(receipt)}
            other = next(each for each in pool if each.id not in taken)
            chosen(receipt)[-1].update(id=other.id, digest=other.digest)

        act(change, iteration)(root)

    return exchange


def _pool(root: Path, iteration: int) -> tuple:
    record = RunReader.strict(root)
    return Populations(record.plan, record.outputs).pool(iteration).candidates["cut"]


def remeasured(change: Measured, *iterations: int, metadata: dict[str, str] | None = None) -> Act:
    """Another measurement in the place of the one that was paid for; the choices stay."""

    def act(root: Path) -> None:
        bodies = RunReader.strict(root).bodies

        def edit(events: list[Event]) -> list[Event]:
            for iteration in iterations or (1,):
                receipt = _of(events, iteration)
                arrays = {name: each.copy() for name, each in load(bodies.file(receipt["measured"])).items()}
                receipt["measured"] = stored(root, save(change(arrays), metadata))
            return events

        rewritten(edit)(root)
        made_to_fit(root)

    return act


def stored_as(data: bytes, iteration: int = 1) -> Act:
    """A measurement that is any bytes."""

    def act(root: Path) -> None:
        receipted(said(measured=stored(root, data)), iteration)(root)

    return act


def with_padding(root: Path) -> None:
    """Spells the measured arrays with more room between header and data."""
    plain = RunReader.strict(root).bodies.file(_measured(root))
    length = int.from_bytes(plain[:8], "little")
    padded = (length + 64).to_bytes(8, "little") + plain[8 : 8 + length] + b" " * 64 + plain[8 + length :]
    stored_as(padded)(root)


def measured_again(root: Path) -> None:
    receipted(said(measured=_measured(root)), 2)(root)


def _measured(root: Path) -> str:
    return next(each.measured for each in RunReader.strict(root).receipts if each.iteration == 1)


def with_array(name: str, array: np.ndarray) -> Measured:
    return lambda arrays: {**arrays, name: array}


def altered(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Measured:
    return lambda arrays: {**arrays, name: np.ascontiguousarray(change(arrays[name]))}


def another_winner(arrays: Arrays) -> Arrays:
    return {"chosen": (arrays["chosen"] + 1) % 3}


def look_of(values: list[float]) -> Act:
    """The appearance that iteration 0 released, and all images given that one."""
    return followed(said(values=values), 0)


UNIFORM = {"mechanism": "uniform", "parameter": "0", "count": 1}
EXPONENTIAL = {"mechanism": "exponential", "parameter": "1", "count": 1}
RECEIPTS, CHOICES, MEASUREMENTS = (
    "forged receipts against the audit",
    "choices that do not follow",
    "forged measurements",
)
OF_CONTROL: dict[str, Row] = {
    "another mechanism": (receipted(said(events=[EXPONENTIAL])), PRICE),
    "a round that is not planned": (
        receipted(said(iteration=17), 2),
        stands("'released'", "the receipt for iteration 2"),
    ),
    "classes in another order": (receipted(lambda each: each["choices"].reverse()), SHAPE),
    "a class of its own": (receipted(lambda each: each["choices"][0].update(label="patient 17")), SHAPE),
    "an image of another class": (receipted(exchange_classes), OTHER_CLASS),
    "an image of an earlier round": (from_round(2, 1), POOL),
    "a number beside the choice": (receipted(said(values=[0.5])), SAID),
}
OF_EVOLVED: dict[str, Row] = {
    "a smaller price": (receipted(priced("1/1000")), PRICE),
    "a price in another spelling": (receipted(priced("10/4")), PRICE),
    "no events": (receipted(said(events=[])), PRICE),
    "another relation": (receipted(said(relation="add-remove")), ANOTHER),
    "another run": (receipted(said(run_id="f" * 32)), ANOTHER),
    "a run of its own words": (receipted(said(run_id="patient 17")), ANOTHER),
    "fewer prototypes": (receipted(lambda each: chosen(each).pop()), SHAPE),
    "more prototypes": (receipted(choose_more), SHAPE),
}
OF_AUTO: dict[str, Row] = {
    "an event more": (receipted(lambda each: each["events"].append(UNIFORM)), PRICE),
    "a zero that is negative": (followed(said(values=[-0.0]), 2), SAID),
    "a look that is half of each": (receipted(said(values=[0.5])), SAID),
    "a look that is negative": (look_of([-0.25, *LOOK[1:]]), NUMBERS),
}
OF_MATCHED: dict[str, Row] = {
    "choices where a look is released": (receipted(said(choices=[{"label": "cut", "chosen": []}]), 0), SHAPE),
    "a look that nobody left open": (receipted(said(values=[1.0])), SAID),
    "a look in more digits than are released": (look_of([0.2000001, *LOOK[1:]]), NUMBERS),
    "a look far outside": (look_of([1e17, *LOOK[1:]]), NUMBERS),
    "a look of seven numbers": (receipted(said(values=[*LOOK, 0.5]), 0), NUMBERS),
    "a look that is infinite": (receipted(said(values=[math.inf, *LOOK[1:]]), 0), DAMAGED),
}
OF_KEPT: dict[str, Row] = {
    "a name in words": followed(lambda each: chosen(each)[0].update(id="patient 17"), 2),
    "another image's bytes": followed(exchange_bytes, 2),
    "bytes that the provider did not send": digest_of(b"\x89PNG"),
}
MEASURED_EVOLVED: dict[str, Row] = {
    "another winner": (remeasured(another_winner), FOLLOWS),
    "another winner in each round": (remeasured(another_winner, 1, 2), FOLLOWS),
    "a winner that is no candidate": (remeasured(altered("chosen", lambda each: each + 40)), FORM),
    "private floats for indices": (remeasured(lambda arrays: {"chosen": FLOATS}), FORM),
    "an array more": (remeasured(with_array("note", FLOATS)), FORM),
    "an empty array more": (remeasured(with_array("patient 17", np.zeros(0))), FORM),
    "another integer type": (remeasured(altered("chosen", lambda each: each.astype(np.int32))), FORM),
    "another shape": (remeasured(altered("chosen", lambda each: each[None])), FORM),
    "text in its header": (remeasured(lambda arrays: arrays, metadata={"note": "patient 17"}), FORM),
    "room in its header": (with_padding, FORM),
    "bytes that are none": (stored_as(SECRET), FORM),
    "nothing": (receipted(said(measured="")), WHERE + "does not say what was measured"),
    "a name that is no digest": (receipted(said(measured="patient 17")), NO_NAME),
    "a name that leads out of the transcript": (receipted(said(measured="../../private/x")), NO_NAME),
    "a name that leads to a device without end": (receipted(said(measured="/dev/zero")), NO_NAME),
    "a measurement that is not there": (receipted(said(measured="0" * 64)), NO_NAME),
}
MEASURED_AUTO: dict[str, Row] = {
    "a picture": (stored_as(b"\x89PNG\r\n\x1a\n"), FORM),
    "measured again for a free choice": (measured_again, UNPAID),
    "not a number": (remeasured(altered("deviations", lambda each: each * np.nan)), FORM),
    "private numbers beside the deviations": (
        remeasured(with_array("deviations", np.resize(FLOATS, (2, 17)))),
        FORM,
    ),
}
MEASURED_AS_IS: dict[str, Row] = {
    "single precision": (remeasured(altered("deviations", lambda each: each.astype(np.float32))), FORM),
    "an array more": (remeasured(with_array("note", FLOATS)), FORM),
    "the centre of other data": (remeasured(altered("centre", lambda each: each + 0.1)), FORM),
    "deviations of other data": (remeasured(altered("deviations", lambda each: each[::-1])), FOLLOWS),
    "no centre of all classes": (
        remeasured(lambda arrays: {name: arrays[name] for name in arrays if name != "middle"}),
        FORM,
    ),
}
FORGERIES: list[Forgery] = [
    *forged(RECEIPTS, OF_CONTROL),
    *forged(RECEIPTS, OF_EVOLVED, "evolved"),
    *forged(RECEIPTS, OF_AUTO, "auto"),
    *forged(RECEIPTS, OF_MATCHED, "matched"),
    *forged(RECEIPTS, OF_KEPT, "kept", fault=POOL),
    *forged(
        CHOICES,
        {
            "two prototypes exchanged": (receipted(reverse), FOLLOWS),
            "an image looked ahead on": (from_round(1, 2), POOL + "|" + FOLLOWS),
        },
        "evolved",
    ),
    *forged(
        CHOICES,
        {"one candidate of the dataset exchanged": other_of_pool(2, followed)},
        "auto",
        "matched",
        "as-is",
        fault=FOLLOWS,
    ),
    *forged(CHOICES, {"one prototype exchanged": other_of_pool(1, receipted)}, "as-is", fault=FOLLOWS),
    *forged(CHOICES, {"the dataset in another order": followed(reverse, 2)}, "auto", "as-is", fault=FOLLOWS),
    *forged(
        CHOICES,
        {
            "one candidate twice": followed(lambda each: chosen(each).__setitem__(1, chosen(each)[0]), 2),
            "the look exchanged": followed(exchange_look, 2),
        },
        "auto",
        fault=FOLLOWS,
    ),
    *forged(MEASUREMENTS, MEASURED_EVOLVED, "evolved"),
    *forged(MEASUREMENTS, {"measured where nobody looked": stored_as(SECRET)}, fault=UNPAID),
    *forged(
        MEASUREMENTS,
        {
            "measured where a look is released": (stored_as(SECRET, 0), UNPAID),
            "axes of other data": (remeasured(altered("axes", lambda each: each[::-1])), FORM),
        },
        "matched",
    ),
    *forged(MEASUREMENTS, MEASURED_AUTO, "auto"),
    *forged(MEASUREMENTS, MEASURED_AS_IS, "as-is"),
    *forged(
        MEASUREMENTS,
        {
            "means of other data": (remeasured(altered("means", lambda each: each[::-1])), FOLLOWS),
            "a centre of all classes too many": (remeasured(with_array("middle", np.zeros(16))), FORM),
        },
        "at once",
    ),
    *forged(
        MEASUREMENTS,
        {
            "the centre of other data, as near as rounding": remeasured(
                altered("centre", lambda each: each + 2.0**-20)
            ),
            "another centre of all classes": remeasured(altered("middle", lambda each: each + 2.0**-40)),
        },
        "framed",
        fault=FORM,
    ),
]
