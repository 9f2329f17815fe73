"""The released dataset: its images, manifest and card, and the classifier that is released with them.

A release is post-processing of paid measurements, so it costs nothing beyond the run's epsilon. A card has a
front matter for programs, and a text.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from pcevolve.errors import TranscriptError, spell_out
from pcevolve.public.figures import in_full
from pcevolve.public.media import find_medium
from pcevolve.public.media.images.appearance import Appearance
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.loss import PrivacyLoss, state_cumulative_loss
from pcevolve.public.publish.promises import (
    NO_GUARANTEE,
    describe_library,
    describe_making,
    list_assumptions,
    list_events,
    list_marks,
    make_title,
    quote_code,
    say_shortfall,
    state_confinement,
    state_guarantee,
    state_promise,
    write_library_section,
)
from pcevolve.public.publish.statements import describe_provider
from pcevolve.public.publish.usefulness import Assessment
from pcevolve.public.release import Candidate, Chosen, Receipt
from pcevolve.public.selectors import find_method
from pcevolve.public.selectors.method import Method
from pcevolve.public.settings import Form
from pcevolve.public.transcript.layout import CLASSIFIER
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Guarantee, Manifest, ReleasedImage, TranscriptEnd


@dataclass(frozen=True)
class DatasetRelease:
    """A dataset and its origin."""

    plan: PublicPlan
    method: Method
    population: Mapping[str, Sequence[Candidate | Chosen]]
    receipts: Sequence[Receipt]
    transcript_head: str
    transcript_lines: int
    assessment: Assessment | None = None

    @classmethod
    def of(cls, run: RunReader, population: Mapping[str, Sequence[Candidate | Chosen]]) -> Self:
        """Return the release of a run whose record is closed (``UsageError`` without a plan)."""
        plan = run.require_plan()
        return cls(
            plan,
            find_method(plan.method.name),
            population,
            run.receipts,
            run.head,
            len(run.entries),
            run.assessment,
        )

    @property
    def guarantee(self) -> Guarantee:
        """The release's guarantee, in figures and words."""
        return state_guarantee(self.plan, self.method, self.receipts)

    def manifest(self, files: Sequence[ReleasedImage], unreadable: Sequence[str]) -> Manifest:
        """Return the release's manifest."""
        return Manifest(
            marks=tuple(list_marks(self.plan)),
            plan=self.plan,
            guarantee=self.guarantee,
            how_made=describe_making(self.plan, self.receipts, files),
            receipts=len(self.receipts),
            transcript=TranscriptEnd(head=self.transcript_head, lines=self.transcript_lines),
            files=tuple(files),
            unreadable=tuple(unreadable),
        )


def name_files(
    plan: PublicPlan, population: Mapping[str, Sequence[Candidate | Chosen]]
) -> dict[str, Candidate | Chosen]:
    """Return the release path of each image or text of a dataset. An item that was chosen twice appears once."""
    suffix = find_medium(plan.modality.kind).suffix
    return {f"{label}/{each.id}{suffix}": each for label, of_class in population.items() for each in of_class}


def describe_file(path: str, data: bytes, candidate: Candidate | Chosen) -> ReleasedImage:
    """Return the manifest's entry for an image with these released bytes."""
    return ReleasedImage(
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        candidate=candidate.id,
        received_sha256=candidate.digest,
    )


def make_classifier(
    plan: PublicPlan, receipts: Sequence[Receipt], stored: Callable[[str], bytes]
) -> bytes | None:
    """Encode ``classifier.safetensors`` of a run.

    Args:
        stored: Returns a stored measurement by digest.

    Returns:
        float64 ``centre`` ``(d,)``, ``axes`` ``(d, k)`` and ``means`` ``(classes, k)``, with classes in the plan's
        order. If private images were measured in a released appearance, also the six numbers of ``appearance``,
        which an image must be given before it is classified. None for a run without a classifier.

    Raises:
        TranscriptError: The stored measurement is not a release of class means.
    """
    # Class means are measured once per run, even if the run is resumed or extended, so take the first measurement.
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
    if plan.method.appearance == "matched":
        first = next(each for each in receipts if not each.iteration)
        kept["appearance"] = Appearance.released(first.values).vector
    # Contiguous, because for a view safetensors would write the whole underlying array.
    return save({name: np.ascontiguousarray(array) for name, array in kept.items()})


SIZES: Final = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
LIMITS: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""Lower bounds of the size categories after the first, in images."""
SHARDS: Final[dict[Form, str]] = {
    "parquet": "data/*.parquet",
    "webdataset": "data/*.tar",
    "jsonl": "data/*.jsonl",
    "csv": "data/*.csv",
}


def write_front_matter(plan: PublicPlan, promised: Guarantee, images: int, form: Form | None) -> str:
    """Write licence, size, tags, title and guarantee of a dataset for the card's front matter."""
    # A JSON string is valid YAML, so json.dumps escapes every value.
    lines = [
        f"license: {json.dumps(plan.output.licence)}",
        f"pretty_name: {json.dumps(spell_out(make_title(plan)), ensure_ascii=False)}",
        f"size_categories: [{json.dumps(SIZES[bisect_right(LIMITS, images)])}]",
        f'task_categories: ["{plan.modality.kind}-classification"]',
        f"tags: {json.dumps(list(_tags(plan)))}",
        *_describe_features(plan, images, form),
        *_configs(form),
        f"pcevolve: {json.dumps(collect_facts(plan, promised))}",
    ]
    return "\n".join(["---", *lines, "---", "", ""])


def collect_facts(plan: PublicPlan, promised: Guarantee) -> dict[str, Any]:
    """Return a card's facts for programs: method, ε, δ, neighbour relation and unit, equal to those in the manifest."""
    drawn = {} if promised.epsilon_drawn is None else {"epsilon_drawn": promised.epsilon_drawn}
    return {
        "method": plan.method.name,
        "epsilon": promised.epsilon_spent,
        **drawn,
        "delta": promised.delta,
        "relation": promised.relation,
        "unit": promised.unit,
    }


def _tags(plan: PublicPlan) -> Iterator[str]:
    """Yield tags for finding the dataset, and warnings as tags."""
    yield "pcevolve"
    yield "synthetic" if plan.library is None else "public-images"
    yield "differential-privacy" if plan.secure else "insecure-no-privacy"


def _describe_features(plan: PublicPlan, images: int, form: Form | None) -> Iterator[str]:
    """Yield ``dataset_info`` for hubs, if its columns are the columns that the ``datasets`` library loads."""
    kind, medium = plan.modality.kind, find_medium(plan.modality.kind)
    # A tar's columns are the suffixes of its files, and among folders only those of images have columns.
    if form == "webdataset" or (form is None and not medium.has_folder_features):
        return
    names = {str(number): label for number, label in enumerate(_list_loaded(plan, form))}
    features = [
        {"name": kind, "dtype": medium.card_type},
        {"name": "label", "dtype": {"class_label": {"names": names}}},
    ]
    yield "dataset_info:"
    yield f"  features: {json.dumps(features, ensure_ascii=False)}"
    if form is not None:
        yield f"  splits: {json.dumps([{'name': 'train', 'num_examples': images}])}"


def _list_loaded(plan: PublicPlan, form: Form | None) -> Sequence[str]:
    """Return class names in the order of their numbers: the plan's order in an export, alphabetical in folders."""
    return plan.labels if form is not None else sorted(plan.labels)


def _configs(form: Form | None) -> Iterator[str]:
    if form is not None:
        yield "configs:"
        yield "- config_name: default"
        yield f"  data_files: {json.dumps(SHARDS[form])}"


def write_card(release: DatasetRelease, files: Sequence[ReleasedImage], form: Form | None = None) -> str:
    """Write the card of a release with these files."""
    plan = release.plan
    warning = "".join(f"> **{mark}**\n\n" for mark in list_marks(plan))
    loaded = find_medium(plan.modality.kind).loaders[form]
    assumed = "\n".join(f"- {each}" for each in list_assumptions(plan))
    confined = state_confinement(plan)
    return (
        f"{write_front_matter(plan, release.guarantee, len(files), form)}"
        f"# {make_title(plan)}\n\n{warning}{_what(release, files)}\n\n"
        f"The dataset consists of {describe_making(plan, release.receipts, files)}.\n\n"
        f"{_usefulness(release.assessment, plan)}"
        f"## Guarantee\n\n{_state_promise(release)}\n\n"
        f"{write_library_section(plan.library)}"
        f"{f'Confinement, as stated by the client: {confined}.{chr(10) * 2}' if confined else ''}"
        f"{_provider(plan)}"
        f"## Assumed to be public\n\n{assumed}\n\n"
        f"{_classifier(plan) if form is None else ''}"
        f"## How to load\n\n```python\n{loaded}\n```\n\n{_say_where_listed(plan, form)}"
    )


def _say_where_listed(plan: PublicPlan, form: Form | None) -> str:
    """State where the files are listed; in an export, list the number by which labels name each class."""
    if form is None:
        return "`manifest.json` lists every file with its digest and names the transcript that proves what was sent.\n"
    numbers = "".join(f"{number}. {quote_code(label)}\n" for number, label in enumerate(plan.labels))
    return f"The order is arbitrary, and the classes are mixed. The labels are:\n\n{numbers}"


def _what(release: DatasetRelease, files: Sequence[ReleasedImage]) -> str:
    """State how many images the dataset has, how many are distinct, and where they come from."""
    plan, nouns = release.plan, release.plan.modality.nouns
    kind = nouns.one
    differ = len({each.sha256 for each in files})
    what = "images" if plan.library else f"synthetic {nouns.many}"
    distinct = "all" if differ == len(files) else str(differ)
    short = f" ({short})" if (short := say_shortfall(plan, len(files))) else ""
    count = f"{len(files)} {what} in {len(plan.labels)} classes, {distinct} of them distinct{short}"
    looked = release.method.selector is not None
    under = " under differential privacy" if plan.secure else ""
    selected = (
        f" and selected with the help of private {nouns.many}{under}"
        if looked
        else f" and no private {kind} was looked at"
    )
    if plan.start is not None:
        selected = f" as variations of a release. No private {kind} was looked at again"
    if plan.library is None:
        return (
            f"{count}, made by `{plan.provider.model}` behind an API"
            f"{selected}. The dataset contains no private {kind}, and none was sent to the API."
        )
    return (
        f"{count}, from the library `{plan.provider.model}` behind an API"
        f"{selected}. **They are not synthetic**: {describe_library(plan.library, quote_code)}. "
        "No private image was sent to the API."
    )


def _usefulness(found: Assessment | None, plan: PublicPlan) -> str:
    """State how useful the dataset is likely to be; empty without an assessment."""
    if found is None:
        return ""
    kind, judge = plan.modality.kind, quote_code(plan.encoder.name or "")
    text = (
        f"**{found.estimate(kind).capitalize()}** according to the released numbers and to {judge}, the encoder that "
        f"also selected the {plan.modality.nouns.many}. {found.reason(kind)}"
    )
    return f"## Is it useful?\n\n{text} Next step: {found.advice(kind)}.\n\n"


def _provider(plan: PublicPlan) -> str:
    """Describe the provider and its retention of data, in the owner's words; empty if the owner states neither."""
    if not (plan.provider.operator or plan.provider.retention):
        return ""
    rows = "".join(f"- {title}: {quote_code(text)}\n" for title, text in describe_provider(plan))
    return f"## Who the provider is\n\n{rows}\n"


def _classifier(plan: PublicPlan) -> str:
    """Describe the released classifier and its requirements; empty for a run without one."""
    if not plan.centre_first:
        return ""
    candidates = (
        f"a frame made from {'synthetic candidates' if plan.library is None else 'images of the library'}"
    )
    frame = (
        f"put together from the public frame (sha256 {plan.encoder.frame}) and {candidates}"
        if plan.encoder.frame
        else candidates
    )
    given = (
        ", of images that were given the released appearance" if plan.method.appearance == "matched" else ""
    )
    nouns = plan.modality.nouns
    covered = "the epsilon above covers it" if plan.secure else "there is no guarantee for it either"
    return (
        f"## Classifier\n\n`{CLASSIFIER}` contains the released means of the {len(plan.labels)} classes. The "
        f"classifier assigns {nouns.an} to the class with the nearest mean. The means are means of embeddings from the "
        f"encoder `{plan.encoder.name}`{given}. The embeddings are measured in a frame, which the file contains as "
        f"`centre` and `axes`. This frame is {frame}. The classifier needed no further access to the private "
        f"{nouns.many}, so {covered}. `pcevolve classify RUN IMAGES` applies the classifier.\n\n"
    )


def _state_promise(release: DatasetRelease) -> str:
    """State the guarantee in words, and the cumulative loss with earlier releases."""
    plan = release.plan
    promised = release.guarantee
    if promised.epsilon_spent is None:
        return f"There is {NO_GUARANTEE}."
    events = list_events(plan, release.receipts)
    in_all = state_cumulative_loss(plan, events)
    more = f"\n\n{in_all}" if in_all else ""
    opening = f"{state_promise(plan)}\n\n" if state_promise(plan) else ""
    loss = PrivacyLoss(promised.epsilon_spent, promised.epsilon_drawn, plan.unit)
    return (
        f"{opening}{loss.say(symbol='epsilon = ')}, delta = {in_full(plan.privacy.delta)}, neighbour relation "
        f"`{plan.privacy.relation}`, privacy unit: one {plan.unit}.\nMethod `{release.method.name}`: "
        f"{release.guarantee.statement}.{more}"
    )
