"""Which of its class's prompts the images of a dataset were made with: what the private images chose among."""

from __future__ import annotations

from collections import Counter

from pcevolve.pages.report.source import FinishedRun
from pcevolve.rules import RunState
from pcevolve.transcript.records import Received, Released

Shares = tuple[tuple[int, str], ...]
"""How many images, and the prompt; most images first."""


def prompts_of_dataset(run: FinishedRun) -> dict[str, Shares]:
    """The prompts of each class's images, by label; without those that vary an image, which are made by it."""
    plan, state = run.plan, RunState(run.plan)
    if not plan.prompts:
        return {}
    for entry in run.record.entries:
        match entry.record:
            case Released(receipt=receipt):
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
