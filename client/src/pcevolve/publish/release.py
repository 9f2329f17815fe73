"""The released dataset: which images it has, what its manifest says, and the classifier beside them.

Post-processing of what was paid for, so it costs nothing: the epsilon of the run covers it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from pcevolve.errors import TranscriptError
from pcevolve.modality import find_medium
from pcevolve.modality.images.appearance import Appearance
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Chosen, Receipt
from pcevolve.public.usefulness import Assessment
from pcevolve.publish.promises import describe_making, list_marks, state_guarantee
from pcevolve.selectors import find_method
from pcevolve.selectors.method import Method
from pcevolve.transcript.manifest import Guarantee, Manifest, ReleasedImage, TranscriptEnd
from pcevolve.transcript.reader import RunReader


@dataclass(frozen=True)
class Release:
    """A dataset and where it comes from."""

    plan: PublicPlan
    method: Method
    population: Mapping[str, Sequence[Candidate | Chosen]]
    receipts: Sequence[Receipt]
    transcript_head: str
    transcript_lines: int
    assessment: Assessment | None = None

    @classmethod
    def of(cls, run: RunReader, population: Mapping[str, Sequence[Candidate | Chosen]]) -> Self:
        """The release of a run whose record is closed; ``UsageError`` for one without a plan."""
        plan = run.require_plan()
        return cls(
            plan,
            find_method(plan.method),
            population,
            run.receipts,
            run.head,
            len(run.entries),
            run.assessment,
        )

    @property
    def guarantee(self) -> Guarantee:
        """The promise of the release, in figures and in words."""
        return state_guarantee(self.plan, self.method, self.receipts)

    def manifest(self, files: Sequence[ReleasedImage], unreadable: Sequence[str]) -> Manifest:
        """Return the manifest: the release's statement about itself."""
        return Manifest(
            marks=tuple(list_marks(self.plan)),
            plan=self.plan,
            guarantee=self.guarantee,
            how_made=describe_making(self.plan, self.receipts),
            receipts=len(self.receipts),
            transcript=TranscriptEnd(head=self.transcript_head, lines=self.transcript_lines),
            files=tuple(files),
            unreadable=tuple(unreadable),
        )


def name_files(
    plan: PublicPlan, population: Mapping[str, Sequence[Candidate | Chosen]]
) -> dict[str, Candidate | Chosen]:
    """Return the path of each image or text of a dataset in the release; one that was chosen twice is there once."""
    suffix = find_medium(plan.modality.kind).suffix
    return {f"{label}/{each.id}{suffix}": each for label, of_class in population.items() for each in of_class}


def describe_file(path: str, data: bytes, candidate: Candidate | Chosen) -> ReleasedImage:
    """Return the manifest's entry for an image of which these are the released bytes."""
    return ReleasedImage(
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        candidate=candidate.id,
        received_sha256=candidate.digest,
    )


def make_classifier(
    plan: PublicPlan, receipts: Sequence[Receipt], stored: Callable[[str], bytes]
) -> bytes | None:
    """``classifier.safetensors`` of a run.

    Args:
        stored: Gives what was measured, by digest.

    Returns:
        float64 ``centre`` ``(d,)``, ``axes`` ``(d, k)`` and ``means`` ``(classes, k)``, classes in the plan's order,
        and, where private images were measured in a released appearance, the six numbers of ``appearance``, that
        images have to be given first; None for a run without a classifier.

    Raises:
        TranscriptError: What is on record as measured is something else.
    """
    # The first that was measured: a resumed or extended run has no other, for class means are released once.
    measured = next((each.measured for each in receipts if each.iteration and each.measured), "")
    if not plan.centre_first or not measured:
        return None
    try:
        arrays = load(stored(measured))
        means = arrays["middle"] + arrays["deviations"]
        kept = {"centre": arrays["centre"], "axes": arrays["axes"], "means": means}
    except (SafetensorError, ValueError, KeyError):
        raise TranscriptError(
            "what was measured is no release of class means, so there is no classifier"
        ) from None
    if plan.appearance == "matched":
        first = next(each for each in receipts if not each.iteration)
        kept["appearance"] = Appearance.released(first.values).vector
    # Contiguous, or safetensors would write a view's whole base.
    return save({name: np.ascontiguousarray(array) for name, array in kept.items()})
