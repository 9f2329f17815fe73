"""The dataset card: what a release is, what it promises, what it assumes."""

from __future__ import annotations

from pcevolve.public.figures import loss
from pcevolve.public.plan import PublicPlan
from pcevolve.public.usefulness import Assessment
from pcevolve.publish.promises import NO_GUARANTEE, assumptions, how_made, in_all, marks
from pcevolve.publish.provenance import as_code, library_section, real_images, title
from pcevolve.publish.release import Release
from pcevolve.transcript.layout import CLASSIFIER


def card(release: Release, images_released: int) -> str:
    """Write the card of a release with so many images."""
    plan = release.plan
    warning = "".join(f"> **{mark}**\n\n" for mark in marks(plan))
    assumed = "\n".join(f"- {each}" for each in assumptions(plan))
    return (
        f"# {title(plan)}\n\n{warning}{_what(plan, images_released)}\n\n"
        f"The dataset is {how_made(plan, release.receipts)}.\n\n"
        f"{_usefulness(release.assessment)}"
        f"## Guarantee\n\n{_promised(release)}\n\n"
        f"{library_section(plan.library)}"
        f"## Assumed to be public\n\n{assumed}\n\n"
        f"{_classifier(plan)}"
        f"## How to load\n\n```python\ntorchvision.datasets.ImageFolder(DIR)\n"
        f'datasets.load_dataset("imagefolder", data_dir=DIR)\n```\n\n'
        f"`manifest.json` lists every file with its digest and names the transcript that proves what was sent.\n"
    )


def _what(plan: PublicPlan, images_released: int) -> str:
    """How many images there are, and whose they are."""
    selected = f"selected by private images{' under differential privacy' if plan.secure else ''}"
    if plan.library is None:
        return (
            f"{images_released} synthetic images in {len(plan.labels)} classes, made by `{plan.model}` behind an API "
            f"and {selected}. No private image is in here, and none was sent to the API."
        )
    return (
        f"{images_released} images in {len(plan.labels)} classes, out of the library `{plan.model}` behind an API and "
        f"{selected}. **They are not synthetic**: {real_images(plan.library, as_code)}. No private image was sent to "
        "the API."
    )


def _usefulness(found: Assessment | None) -> str:
    """Whether the dataset is likely to be worth something; empty where nothing was found about it."""
    if found is None:
        return ""
    return (
        f"## Is it useful?\n\n**{found.word.capitalize()}**, as far as what was released can tell: {found.reason}. "
        f"Next: {found.advice}.\n\n"
    )


def _classifier(plan: PublicPlan) -> str:
    """What the classifier beside the images is and needs; empty for a run that has none."""
    if not plan.centre_first:
        return ""
    frame = (
        f"the public frame with sha256 {plan.frame}"
        if plan.frame
        else "a frame made from synthetic candidates"
    )
    given = ", of images that were given the released appearance" if plan.appearance == "matched" else ""
    covered = "the epsilon above covers it" if plan.secure else "there is no guarantee for it either"
    return (
        f"## Classifier\n\n`{CLASSIFIER}` holds the released means of the {len(plan.labels)} classes: an image belongs "
        f"to the class whose mean is nearest. The means are those of embeddings by encoder `{plan.encoder}`{given}, in "
        f"{frame}, which is in the file as `centre` and `axes`. Nothing was asked of the private images for it, so "
        f"{covered}. `pcevolve classify RUN IMAGES` applies it.\n\n"
    )


def _promised(release: Release) -> str:
    """The guarantee in words, and what it adds up to with earlier ones."""
    plan = release.plan
    spent = release.guarantee.epsilon_spent
    if spent is None:
        return f"There is {NO_GUARANTEE}."
    events = [event for receipt in release.receipts for event in receipt.events]
    together = in_all(plan, events)
    return (
        f"epsilon = {loss(spent)}, delta = {plan.delta:g}, neighbour relation "
        f"`{plan.relation}`, privacy unit: one {plan.unit}.\nMethod `{release.method.name}`: "
        f"{release.method.statement(plan)}." + (f"\n\n{together}" if together else "")
    )
