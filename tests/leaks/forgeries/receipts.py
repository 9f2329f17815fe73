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
    made_to_fit,
    of_family,
    republished,
    rewritten,
    stored,
)
from pcevolve.public.release import Receipt
from pcevolve.transcript import RunReader
from support.populations import Populations

Values = dict[str, object]
WHERE = r"receipt for iteration \d+: "
PRICE = WHERE + "not the planned price or mechanism"
SHAPE = WHERE + "names other classes or numbers of prototypes than the plan"
FOLLOWS = WHERE + "its choices do not follow from what was measured"
FORM = WHERE + "what was measured has not the form that its method gives"
SAID = WHERE + "says something that the plan does not leave open"
POOL = WHERE + "names an image that is not among those it chose from"
NO_NAME = r"transcript/bodies/.* is missing"
MEASURED = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]


def receipted(change: Callable[[Values], object], iteration: int = 1) -> Act:
    """One receipt changed in a whole chain; what is published follows from it."""

    def act(root: Path) -> None:
        _forged(root, change, iteration)
        made_to_fit(root)

    return act


def followed(change: Callable[[Values], object], iteration: int) -> Act:
    """One receipt changed, and the images of the release made anew by it."""

    def act(root: Path) -> None:
        _forged(root, change, iteration)
        republished(root)

    return act


def _forged(root: Path, change: Callable[[Values], object], iteration: int) -> None:
    """Change the receipt of an iteration."""

    def edit(events: list[Event]) -> list[Event]:
        change(_of(events, iteration))
        return events

    rewritten(edit)(root)


def _of(events: list[Event], iteration: int) -> Values:
    receipts = (event["receipt"] for event in events if event["kind"] == "released")
    return next(each for each in receipts if each["iteration"] == iteration)


def said(**fields: object) -> Callable[[Values], object]:
    return lambda receipt: receipt.update(fields)


def chosen(receipt: Values, place: int = 0) -> list[dict[str, str]]:
    return receipt["choices"][place]["chosen"]


def two_exchanged(receipt: Values) -> None:
    chosen(receipt).reverse()


def class_exchanged(receipt: Values) -> None:
    receipt["choices"][0]["chosen"] = receipt["choices"][1]["chosen"]


def fewer(receipt: Values) -> None:
    chosen(receipt).pop()


def more(receipt: Values) -> None:
    chosen(receipt).append(copy.deepcopy(chosen(receipt)[0]))


def renamed_class(receipt: Values) -> None:
    receipt["choices"][0]["label"] = "patient 17"


def free_name(receipt: Values) -> None:
    """The name of a released file, in words of the forger's."""
    chosen(receipt)[0]["id"] = "patient 17"


def other_digest(receipt: Values) -> None:
    """A candidate's name with another candidate's bytes."""
    chosen(receipt)[0]["digest"] = chosen(receipt)[1]["digest"]


def digest_of(data: bytes) -> Act:
    """A candidate's name with bytes that the provider never sent."""

    def act(root: Path) -> None:
        digest = stored(root, data)
        followed(lambda receipt: chosen(receipt)[0].update(digest=digest), 2)(root)

    return act


def from_round(iteration: int, of: int) -> Act:
    """A candidate of a round that this receipt does not choose from, and the requests that send it back."""

    def act(root: Path) -> None:
        evidence = RunReader.strict(root)
        pool = Populations(evidence.plan, evidence.outputs).pool(of)
        first = pool.candidates["cut"][0]
        receipted(lambda receipt: chosen(receipt)[0].update(id=first.id, digest=first.digest), iteration)(
            root
        )

    return act


def other_of_pool(receipt_of: int, republish: bool) -> Act:
    """One chosen candidate exchanged for another that could have been chosen."""

    def act(root: Path) -> None:
        evidence = RunReader.strict(root)
        pool = Populations(evidence.plan, evidence.outputs).pool(receipt_of).candidates["cut"]

        def exchange(receipt: Values) -> None:
            taken = {each["id"] for each in chosen(receipt)}
            other = next(each for each in pool if each.id not in taken)
            chosen(receipt)[-1].update(id=other.id, digest=other.digest)

        (followed if republish else receipted)(exchange, receipt_of)(root)

    return act


def remeasured(change: MEASURED, *iterations: int, metadata: dict[str, str] | None = None) -> Act:
    """Another measurement in the place of the one that was paid for; the choices stay."""

    def act(root: Path) -> None:
        bodies = RunReader.strict(root).bodies

        def edit(events: list[Event]) -> list[Event]:
            for iteration in iterations or (1,):
                receipt = _of(events, iteration)
                arrays = {
                    name: array.copy() for name, array in load(bodies.file(receipt["measured"])).items()
                }
                receipt["measured"] = stored(root, save(change(arrays), metadata))
            return events

        rewritten(edit)(root)
        made_to_fit(root)

    return act


def stored_as(data: bytes) -> Act:
    """A measurement that is any bytes."""

    def act(root: Path) -> None:
        digest = stored(root, data)
        receipted(said(measured=digest))(root)

    return act


def with_padding(root: Path) -> None:
    """The same arrays, spelled with more room between header and data."""
    bodies = RunReader.strict(root).bodies
    plain = bodies.file(_receipt(root, 1).measured)
    length = int.from_bytes(plain[:8], "little")
    padded = (length + 64).to_bytes(8, "little") + plain[8 : 8 + length] + b" " * 64 + plain[8 + length :]
    digest = stored(root, padded)
    receipted(said(measured=digest))(root)


def _receipt(root: Path, iteration: int) -> Receipt:
    return next(each for each in RunReader.strict(root).receipts if each.iteration == iteration)


def with_array(name: str, array: np.ndarray) -> MEASURED:
    return lambda arrays: {**arrays, name: array}


def another_winner(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"chosen": (arrays["chosen"] + 1) % 3}


def shifted(name: str, by: float) -> MEASURED:
    return lambda arrays: {**arrays, name: arrays[name] + by}


def look_exchanged(receipt: Values) -> None:
    receipt["values"] = [1.0 - receipt["values"][0]]


def look_of(values: object) -> Act:
    """The appearance that iteration 0 released, and all images given that one."""

    def act(root: Path) -> None:
        followed(said(values=values), 0)(root)

    return act


PRIVATE_FLOATS = np.frombuffer(SECRET[:16], dtype=np.float64)
LOOK = [0.2, 0.7, 0.0, 0.9, 0.4, 0.6]
NUMBERS = WHERE + "its numbers are none that a release of the appearance gives"
RECEIPTS: list[tuple[str, str, Act, str]] = [
    (
        "another mechanism",
        "control",
        receipted(said(events=[{"mechanism": "exponential", "parameter": "1", "count": 1}])),
        PRICE,
    ),
    (
        "a smaller price",
        "evolved",
        receipted(lambda each: each["events"][0].update(parameter="1/1000")),
        PRICE,
    ),
    (
        "a price in another spelling",
        "evolved",
        receipted(lambda each: each["events"][0].update(parameter="10/4")),
        PRICE,
    ),
    ("no events", "evolved", receipted(said(events=[])), PRICE),
    (
        "an event more",
        "auto",
        receipted(lambda each: each["events"].append({"mechanism": "uniform", "parameter": "0", "count": 1})),
        PRICE,
    ),
    (
        "another relation",
        "evolved",
        receipted(said(relation="add-remove")),
        WHERE + "for another run or relation",
    ),
    ("another run", "evolved", receipted(said(run_id="f" * 32)), WHERE + "for another run or relation"),
    (
        "a run of its own words",
        "evolved",
        receipted(said(run_id="patient 17")),
        WHERE + "for another run or relation",
    ),
    (
        "a round that is not planned",
        "control",
        receipted(said(iteration=17), 2),
        r"line \d+: 'released' stands where the receipt for iteration 2",
    ),
    ("classes in another order", "control", receipted(lambda each: each["choices"].reverse()), SHAPE),
    ("a class of its own", "control", receipted(renamed_class), SHAPE),
    ("fewer prototypes", "evolved", receipted(fewer), SHAPE),
    ("more prototypes", "evolved", receipted(more), SHAPE),
    (
        "choices where a look is released",
        "matched",
        receipted(said(choices=[{"label": "cut", "chosen": []}]), 0),
        SHAPE,
    ),
    (
        "an image of another class",
        "control",
        receipted(class_exchanged),
        r"request .*: varies an image of another class, or of no earlier round",
    ),
    ("a name in words", "kept", followed(free_name, 2), POOL),
    ("another image's bytes", "kept", followed(other_digest, 2), POOL),
    ("bytes that the provider did not send", "kept", digest_of(b"\x89PNG"), POOL),
    ("an image of an earlier round", "control", from_round(2, 1), POOL),
    ("a number beside the choice", "control", receipted(said(values=[0.5])), SAID),
    ("a zero that is negative", "auto", followed(said(values=[-0.0]), 2), SAID),
    ("a look that nobody left open", "matched", receipted(said(values=[1.0])), SAID),
    ("a look that is half of each", "auto", receipted(said(values=[0.5])), SAID),
    ("a look in more digits than are released", "matched", look_of([0.2000001, *LOOK[1:]]), NUMBERS),
    ("a look far outside", "matched", look_of([1e17, *LOOK[1:]]), NUMBERS),
    ("a look that is negative", "auto", look_of([-0.25, *LOOK[1:]]), NUMBERS),
    ("a look of seven numbers", "matched", receipted(said(values=[*LOOK, 0.5]), 0), NUMBERS),
    (
        "a look that is infinite",
        "matched",
        receipted(said(values=[math.inf, *LOOK[1:]]), 0),
        r"transcript line \d+ is damaged",
    ),
]
CHOICES: list[tuple[str, str, Act, str]] = [
    ("two prototypes exchanged", "evolved", receipted(two_exchanged), FOLLOWS),
    ("one candidate of the dataset exchanged", "auto", other_of_pool(2, republish=True), FOLLOWS),
    ("one candidate of the dataset exchanged", "matched", other_of_pool(2, republish=True), FOLLOWS),
    ("one candidate of the dataset exchanged", "as-is", other_of_pool(2, republish=True), FOLLOWS),
    ("one prototype exchanged", "as-is", other_of_pool(1, republish=False), FOLLOWS),
    ("the dataset in another order", "auto", followed(two_exchanged, 2), FOLLOWS),
    ("the dataset in another order", "as-is", followed(two_exchanged, 2), FOLLOWS),
    (
        "one candidate twice",
        "auto",
        followed(lambda each: chosen(each).__setitem__(1, chosen(each)[0]), 2),
        FOLLOWS,
    ),
    ("the look exchanged", "auto", followed(look_exchanged, 2), FOLLOWS),
    ("an image looked ahead on", "evolved", from_round(1, 2), POOL + "|" + FOLLOWS),
]
MEASUREMENTS: list[tuple[str, str, Act, str]] = [
    ("another winner", "evolved", remeasured(another_winner), FOLLOWS),
    ("another winner in each round", "evolved", remeasured(another_winner, 1, 2), FOLLOWS),
    ("a winner that is no candidate", "evolved", remeasured(shifted("chosen", 40)), FORM),
    ("private floats for indices", "evolved", remeasured(lambda arrays: {"chosen": PRIVATE_FLOATS}), FORM),
    ("an array more", "evolved", remeasured(with_array("note", PRIVATE_FLOATS)), FORM),
    ("an empty array more", "evolved", remeasured(with_array("patient 17", np.zeros(0))), FORM),
    (
        "another integer type",
        "evolved",
        remeasured(lambda arrays: {"chosen": arrays["chosen"].astype(np.int32)}),
        FORM,
    ),
    ("another shape", "evolved", remeasured(lambda arrays: {"chosen": arrays["chosen"][None]}), FORM),
    (
        "text in its header",
        "evolved",
        remeasured(lambda arrays: arrays, metadata={"note": "patient 17"}),
        FORM,
    ),
    ("room in its header", "evolved", with_padding, FORM),
    ("bytes that are none", "evolved", stored_as(SECRET), FORM),
    ("a picture", "auto", stored_as(b"\x89PNG\r\n\x1a\n"), FORM),
    ("nothing", "evolved", receipted(said(measured="")), WHERE + "does not say what was measured"),
    ("a name that is no digest", "evolved", receipted(said(measured="patient 17")), NO_NAME),
    (
        "a name that leads out of the transcript",
        "evolved",
        receipted(said(measured="../../private/x")),
        NO_NAME,
    ),
    ("a name that leads to a device without end", "evolved", receipted(said(measured="/dev/zero")), NO_NAME),
    (
        "a measurement that is not there",
        "evolved",
        receipted(said(measured="0" * 64)),
        r"transcript/bodies/0{64} is missing",
    ),
    (
        "measured where nobody looked",
        "control",
        stored_as(SECRET),
        WHERE + "names a measurement that nobody paid for",
    ),
    (
        "measured where a look is released",
        "matched",
        lambda root: _at_zero(root),
        WHERE + "names a measurement that nobody paid for",
    ),
    (
        "measured again for a free choice",
        "auto",
        lambda root: _again(root),
        WHERE + "names a measurement that nobody paid for",
    ),
    (
        "not a number",
        "auto",
        remeasured(lambda arrays: {**arrays, "deviations": arrays["deviations"] * np.nan}),
        FORM,
    ),
    (
        "single precision",
        "as-is",
        remeasured(lambda arrays: {**arrays, "deviations": arrays["deviations"].astype(np.float32)}),
        FORM,
    ),
    ("an array more", "as-is", remeasured(with_array("note", PRIVATE_FLOATS)), FORM),
    ("the centre of other data", "as-is", remeasured(shifted("centre", 0.1)), FORM),
    (
        "axes of other data",
        "matched",
        remeasured(lambda arrays: {**arrays, "axes": np.ascontiguousarray(arrays["axes"][::-1])}),
        FORM,
    ),
    (
        "deviations of other data",
        "as-is",
        remeasured(lambda arrays: {**arrays, "deviations": np.ascontiguousarray(arrays["deviations"][::-1])}),
        FOLLOWS,
    ),
    (
        "means of other data",
        "at once",
        remeasured(lambda arrays: {**arrays, "means": np.ascontiguousarray(arrays["means"][::-1])}),
        FOLLOWS,
    ),
    (
        "the centre of other data, as near as rounding",
        "framed",
        remeasured(shifted("centre", 2.0**-20)),
        FORM,
    ),
    ("another centre of all classes", "framed", remeasured(shifted("middle", 2.0**-40)), FORM),
    (
        "no centre of all classes",
        "as-is",
        remeasured(lambda arrays: {name: arrays[name] for name in arrays if name != "middle"}),
        FORM,
    ),
    ("a centre of all classes too many", "at once", remeasured(with_array("middle", np.zeros(16))), FORM),
    (
        "private numbers beside the deviations",
        "auto",
        remeasured(lambda arrays: {**arrays, "deviations": np.resize(PRIVATE_FLOATS, (2, 17))}),
        FORM,
    ),
]


def _at_zero(root: Path) -> None:
    digest = stored(root, SECRET)
    receipted(said(measured=digest), 0)(root)


def _again(root: Path) -> None:
    first = _receipt(root, 1).measured
    receipted(said(measured=first), 2)(root)


FORGERIES: list[Forgery] = [
    *of_family("forged receipts against the audit", RECEIPTS),
    *of_family("choices that do not follow", CHOICES),
    *of_family("forged measurements", MEASUREMENTS),
]
