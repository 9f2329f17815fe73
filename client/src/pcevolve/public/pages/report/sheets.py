"""Contact sheets of a run, and the prompts of its images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from pcevolve.public.calls import Call
from pcevolve.public.loop.rules import RunState
from pcevolve.public.media.images.appearance import Appearance, find_released_appearance
from pcevolve.public.modality import OWN_DEGREE
from pcevolve.public.pages.rendering import PagePicture, make_picture
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Chosen, Receipt, count_rounds
from pcevolve.public.transcript.reader import FinishedRun
from pcevolve.public.transcript.records import Received, RecordedRelease

Shares = tuple[tuple[int, str], ...]
"""Prompts with their numbers of images, in descending order."""


def count_prompts(run: FinishedRun) -> dict[str, Shares]:
    """Count the images of each class by prompt. Variations of an image have no prompt."""
    plan, state = run.plan, RunState(run.plan)
    if not plan.provider.prompts:
        return {}
    for entry in run.record.entries:
        match entry.record:
            case RecordedRelease(receipt=receipt):
                state.note_receipt(receipt)
            case Received(slot=slot, outputs=outputs):
                state.note_outputs(slot, outputs)
    made = {label: Counter[str]() for label in plan.labels}
    labels = {call.output(k): call.label for call in plan.calls.values() for k in range(call.count)}
    for image in run.manifest.files:
        wording, label = state.wording(image.candidate), labels[image.candidate]
        if wording is not None:
            made[label][plan.first_prompts(label)[wording]] += 1
    return {
        label: tuple((count, prompt) for prompt, count in own.most_common()) for label, own in made.items()
    }


ROWS = 6  # most iterations per class, including the first and the last
TILES_PER_ROW = 12
BESIDE = 6  # images per class and compared run
TILES = 500  # images in the whole page, which keeps it under 4 MB


@dataclass(frozen=True)
class Tile:
    """One candidate. ``receipt`` allowed sending it back; None if it was not chosen."""

    id: str
    picture: PagePicture
    receipt: Receipt | None = None


@dataclass(frozen=True)
class SheetRow:
    """Some candidates of a class after an iteration."""

    title: str
    how: str
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class Sheet:
    """One class over the run. ``prompts`` counts the dataset's images by prompt, if the class has several."""

    label: str
    prompts: Shares
    rows: tuple[SheetRow, ...]


def draw_sheets(run: FinishedRun) -> list[Sheet]:
    """Draw the sheets of as many classes as fit into the page.

    Raises:
        TranscriptError: A stored answer is missing or was changed.
    """
    plan = run.plan
    iterations = spread_evenly(count_rounds(plan, run.receipts) + 1, ROWS)
    per_row = max(4, min(TILES_PER_ROW, TILES // (len(iterations) * len(plan.labels))))
    labels, prompts = plan.labels[: TILES // (len(iterations) * per_row)], count_prompts(run)
    return [
        Sheet(label, prompts.get(label, ()), tuple(_rows(run, iterations, label, per_row)))
        for label in labels
    ]


def show_dataset(run: FinishedRun, label: str, title: str, count: int) -> SheetRow:
    """Show some images of a class of the dataset, spread evenly over the class."""
    plan = run.plan
    files = (each for each in run.manifest.files if each.label == label)
    whole = [Chosen(each.candidate, each.received_sha256) for each in files]
    named = [whole[place] for place in spread_evenly(len(whole), count)]
    tiles = _tiles(run, named, {}, count, find_released_appearance(run.receipts.values()))
    return SheetRow(title, f"method {plan.method.name}", tiles)


def show_opening(run: FinishedRun, count: int) -> SheetRow:
    """Show the provider's first images, alternating between classes."""
    by_label = [
        _outputs(run, [call for call in run.plan.opening if call.label == label]) for label in run.plan.labels
    ]
    mixed = [each for turn in zip_longest(*by_label) for each in turn if each is not None]
    return SheetRow("The words alone", "as the provider sent them", _tiles(run, mixed, {}, count))


def spread_evenly(count: int, wanted: int) -> list[int]:
    """Choose at most ``wanted`` of ``range(count)``, spread evenly, including the first and the last."""
    if count <= wanted:
        return list(range(count))
    return [round(place * (count - 1) / (wanted - 1)) for place in range(wanted)]


def show_beside(runs: Mapping[str, FinishedRun]) -> list[Sheet]:
    """Show some images of each run's dataset, class by class; empty if there is only one run.

    Raises:
        TranscriptError: A stored answer is missing or was changed.
    """
    labels = next(iter(runs.values())).plan.labels if len(runs) > 1 else ()
    return [
        Sheet(label, (), tuple(show_dataset(run, label, name, BESIDE) for name, run in runs.items()))
        for label in labels
    ]


def _rows(run: FinishedRun, iterations: Sequence[int], label: str, per_row: int) -> Iterator[SheetRow]:
    """Yield the populations that are shown, and the dataset unless it is the last population."""
    plan = run.plan
    chosen = _list_sent_back(run, label)
    wanted = find_released_appearance(run.receipts.values())
    matched = ", appearance matched" if wanted else ""
    ids = [each.candidate for each in run.manifest.files]
    chosen_last = any(run.receipts[each].is_among(ids) for each in sorted(run.receipts)[-1:])
    for t in iterations:
        named = _outputs(run, [call for call in plan.round(t) if call.label == label])
        title = f"Iteration {t}" if t else "Initial"
        last = " (the dataset)" if t == plan.method.iterations and not chosen_last else ""
        shown = wanted if last else None
        how = _how(plan, t)
        yield SheetRow(
            title + last, how + (matched if last else ""), _tiles(run, named, chosen, per_row, shown)
        )
    if chosen_last:
        pool = "all rounds" if plan.method.iterations else "all candidates"
        how = f"selected from {pool}" if plan.selects else "the last selection, with variations of it"
        yield replace(show_dataset(run, label, "The dataset", per_row), how=how + matched)
    elif plan.method.more:
        extended = _outputs(run, [call for call in plan.extensions() if call.label == label])
        yield SheetRow(
            "More of the dataset",
            "variations of the last round" + matched,
            _tiles(run, extended, {}, per_row, wanted),
        )


def _how(plan: PublicPlan, iteration: int) -> str:
    if not iteration:
        return "from the prompt" if plan.start is None else "from the release that the run starts from"
    if plan.varies_prompts:
        return "with the prompts of prototypes"
    return (
        plan.modality.describe_degree(plan.method.strengths[iteration - 1])
        if plan.method.strengths
        else OWN_DEGREE
    )


def _list_sent_back(run: FinishedRun, label: str) -> dict[str, Receipt]:
    """Return the candidates of a class that were sent back, each with the first receipt that allowed it."""
    found: dict[str, Receipt] = {}
    for iteration in sorted(run.receipts):
        if iteration <= run.plan.method.iterations:
            for each in run.receipts[iteration].of(label):
                found.setdefault(each.id, run.receipts[iteration])
    return found


def _tiles(
    run: FinishedRun,
    named: Sequence[Chosen],
    chosen: Mapping[str, Receipt],
    count: int,
    wanted: Appearance | None = None,
) -> tuple[Tile, ...]:
    framed = [each.id for each in named if each.id in chosen][:count]
    others = [each.id for each in named if each.id not in chosen][: count - len(framed)]
    shown, kind = {*framed, *others}, run.plan.modality.kind
    return tuple(
        Tile(each.id, make_picture(kind, run.record.bodies.file(each.digest), wanted), chosen.get(each.id))
        for each in named
        if each.id in shown
    )


def _outputs(run: FinishedRun, calls: Sequence[Call]) -> list[Chosen]:
    return [
        Chosen(call.output(index), digest)
        for call in calls
        for index, digest in enumerate(run.record.outputs.get(call.slot, ()))
    ]
