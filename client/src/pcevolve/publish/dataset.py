"""The release folder: the synthetic dataset, its manifest and its card. Holds nothing private."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from pcevolve.dp.accountants import epsilon
from pcevolve.durable import sync_folder
from pcevolve.ledger.units import IMAGE
from pcevolve.methods.method import Method
from pcevolve.modality.images.appearance import Appearance, appearance_in
from pcevolve.privacy import Event
from pcevolve.public.figures import loss
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Chosen, Receipt
from pcevolve_shared import images

FORMAT = "pcevolve-manifest/3"
MANIFEST = "manifest.json"
CARD = "README.md"
NO_GUARANTEE = "none: the noise came from a seed, and whoever knows it can take the noise away"


@dataclass(frozen=True)
class Release:
    """What is published: the dataset and the public facts about how it came to be."""

    plan: PublicPlan
    method: Method
    population: Mapping[str, Sequence[Candidate | Chosen]]
    receipts: Sequence[Receipt]
    transcript_head: str
    transcript_lines: int

    @property
    def guarantee(self) -> dict[str, Any]:
        """The promise in figures."""
        return guarantee(self.plan, self.receipts)


def guarantee(plan: PublicPlan, receipts: Iterable[Receipt]) -> dict[str, Any]:
    """The promise in figures, as plan and receipts give it; ``epsilon_spent`` holds at ``delta``, None if none does."""
    in_order = sorted(receipts, key=lambda receipt: receipt.iteration)
    events = [event for receipt in in_order for event in receipt.events]
    return {
        "epsilon_budget": float(plan.budget.epsilon),
        "epsilon_spent": epsilon(events, plan.delta) if plan.secure else None,
        "delta": plan.delta,
        "relation": plan.relation,
        "unit": plan.unit,
        "events": [asdict(event) for event in events],
    }


def how_made(release: Release) -> str:
    """How the dataset came out of the provider's answers, in words."""
    plan = release.plan
    parts = {
        "selected": "selected from all rounds by what was released",
        "last": "the last round"
        + (f" and {plan.more} more variations of each of its images" if plan.more else ""),
    }
    return parts[plan.keep] + _look(plan, appearance_in(release.receipts))


def _look(plan: PublicPlan, found: Appearance | None) -> str:
    matched = (
        "; tone, colour, sharpness and place were matched to six numbers that were released with the rest"
    )
    nearer = "which lies nearer to what was released about the classes"
    if plan.appearance == "auto":
        return f"{matched}, {nearer}" if found else f"; its images look as they came, {nearer}"
    return matched if found else ""


def assumptions(plan: PublicPlan) -> list[str]:
    """What the guarantee takes to be public already."""
    return [
        *_unit_sizes(plan),
        f"class names: {', '.join(plan.labels)}",
        f"domain words: {plan.domain}",
        f"nominal shots per class: {plan.shots}",
        f"candidates per class: {plan.candidates}; iterations: {plan.iterations}",
        f"encoder: {plan.encoder}",
    ]


def _unit_sizes(plan: PublicPlan) -> list[str]:
    """What is taken to be public about how many images belong to one unit, where runs may count images or patients."""
    if plan.unit_size is not None:
        whose = "unit of any run on these data" if plan.unit == IMAGE else plan.unit
        return [f"at most {plan.unit_size} images per {whose}"]
    known = plan.unit != IMAGE and plan.relation == "replace-one"
    return [f"how many images each {plan.unit} has"] if known else []


def marks(plan: PublicPlan) -> list[str]:
    """Warnings that nobody can switch off."""
    found = [] if plan.secure else ["INSECURE: noise came from a seed; this run has no privacy"]
    if plan.forgets_insecure:
        found.append(
            "INSECURE runs on the same data are left out of the account (--forget-insecure): what they revealed comes "
            "on top of what is said here"
        )
    return found


def in_all(plan: PublicPlan, events: Iterable[Event]) -> str:
    """What all releases to one provider add up to, in a sentence; empty if there were none, or nothing is promised.

    It is a function of public facts alone and the same whether or not the releases have any data in common: it does
    not say that they have, because that is private, only what a unit bears that is in all of them.

    Args:
        plan: Of this run.
        events: What this run does to its private data.
    """
    if not (plan.secure and plan.earlier.releases):
        return ""
    number = plan.earlier.releases
    known = f"This ledger knows {number} earlier release{'s' if number > 1 else ''} to this provider"
    if plan.earlier.events is None:
        return (
            f"{known}, some under another neighbour relation or on units of another kind: what one {plan.unit} bears "
            "that is in all of them and in this one cannot be added up."
        )
    total = epsilon((*plan.earlier.events, *events), plan.delta)
    bears = f"epsilon <= {loss(total)}" if isfinite(total) else "more than any epsilon bounds"
    everywhere = f"one {plan.unit} that is in all of them and in this one"
    return f"{known}; {everywhere} bears {bears} at delta {plan.delta:g} in all."


def publish(folder: Path, release: Release, received: Callable[[str], bytes]) -> None:
    """Write the dataset in one step: either all of it is there or nothing.

    Every image is decoded and encoded anew, which drops whatever metadata the provider put in; an image that was
    chosen twice is in it once.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    files, unreadable = _write_images(partial, release, received)
    (partial / MANIFEST).write_bytes(manifest(release, files, unreadable))
    (partial / CARD).write_bytes(card(release, len(files)).encode())
    partial.replace(folder)
    sync_folder(folder.parent)


def clean_image(data: bytes, wanted: Appearance | None = None) -> bytes:
    """The released form of a received image: pixels only, as PNG, in the released appearance if there is one.

    Raises:
        ImageError: Not an image within the limits.
    """
    image = images.decode(data)
    return images.encode(image if wanted is None else wanted.given_to(image), "png")


def _write_images(
    folder: Path, release: Release, received: Callable[[str], bytes]
) -> tuple[list[dict[str, str]], list[str]]:
    files: list[dict[str, str]] = []
    unreadable: list[str] = []
    wanted = appearance_in(release.receipts)
    for path, candidate in image_paths(release.population).items():
        try:
            data = clean_image(received(candidate.digest), wanted)
        except images.ImageError:
            unreadable.append(candidate.id)
            continue
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
        files.append(listed(path, data, candidate))
    return files, unreadable


def image_paths(population: Mapping[str, Sequence[Candidate | Chosen]]) -> dict[str, Candidate | Chosen]:
    """Where each image of a dataset belongs in the release; one that was chosen twice is there once."""
    return {f"{label}/{each.id}.png": each for label, candidates in population.items() for each in candidates}


def listed(path: str, data: bytes, candidate: Candidate | Chosen) -> dict[str, str]:
    """What the manifest says about an image."""
    return {
        "path": path,
        "sha256": hashlib.sha256(data).hexdigest(),
        "candidate": candidate.id,
        "received_sha256": candidate.digest,
    }


def manifest(release: Release, files: Sequence[dict[str, str]], unreadable: Sequence[str]) -> bytes:
    """The manifest, in its one spelling: a function of the transcript and of the images' bytes."""
    plan = release.plan
    content = {
        "format": FORMAT,
        "marks": marks(plan),
        "plan": plan.model_dump(mode="json"),
        "guarantee": {
            **release.guarantee,
            "statement": release.method.statement(plan) if plan.secure else NO_GUARANTEE,
            "assumed_public": assumptions(plan),
        },
        "how_made": how_made(release),
        "receipts": len(release.receipts),
        "transcript": {"head": release.transcript_head, "lines": release.transcript_lines},
        "files": list(files),
        "unreadable": list(unreadable),
    }
    return json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"


def _promised(release: Release) -> str:
    """The guarantee in words, and what it adds up to with earlier ones."""
    plan = release.plan
    if not plan.secure:
        return f"There is {NO_GUARANTEE}."
    events = [event for receipt in release.receipts for event in receipt.events]
    together = in_all(plan, events)
    return (
        f"epsilon = {loss(release.guarantee['epsilon_spent'])}, delta = {plan.delta:g}, neighbour relation "
        f"`{plan.relation}`, privacy unit: one {plan.unit}.\nMethod `{release.method.name}`: "
        f"{release.method.statement(plan)}." + (f"\n\n{together}" if together else "")
    )


def card(release: Release, images_released: int) -> str:
    """The dataset card: what this is, what it promises, what it assumes."""
    plan = release.plan
    warning = "".join(f"> **{mark}**\n\n" for mark in marks(plan))
    assumed = "\n".join(f"- {each}" for each in assumptions(plan))
    return (
        f"# Synthetic dataset: {plan.domain}\n\n{warning}"
        f"{images_released} synthetic images in {len(plan.labels)} classes, made by `{plan.model}` behind an API "
        f"and selected by private images{' under differential privacy' if plan.secure else ''}. No private image is "
        f"in here, and none was sent to the API.\n\n"
        f"The dataset is {how_made(release)}.\n\n"
        f"## Guarantee\n\n{_promised(release)}\n\n"
        f"## Assumed to be public\n\n{assumed}\n\n"
        f"## How to load\n\n```python\ntorchvision.datasets.ImageFolder(DIR)\n"
        f'datasets.load_dataset("imagefolder", data_dir=DIR)\n```\n\n'
        f"`manifest.json` lists every file with its digest and names the transcript that proves what was sent.\n"
    )
