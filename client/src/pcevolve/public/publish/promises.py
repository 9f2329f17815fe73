"""Promises in words, and the images' origin, for card, manifest and report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite

from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.dp.calibration import DRAWN_UNITS
from pcevolve.public.figures import format_loss, in_full
from pcevolve.public.media.images.appearance import Appearance, find_released_appearance
from pcevolve.public.modality import OWN_DEGREE, SINGLE
from pcevolve.public.parts import Library, LicenceNotice, Start
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.release import Receipt, count_rounds
from pcevolve.public.selectors.method import Method
from pcevolve.public.transcript.records import Guarantee, ReleasedImage

_MOST_NAMED = 3  # most licences that one sentence names


def make_title(plan: PublicPlan) -> str:
    """Return a dataset's title, which states whether its images are synthetic."""
    return (
        f"{'Synthetic dataset' if plan.library is None else 'Dataset of public images'}: {plan.data.domain}"
    )


def describe_library(library: Library, spelled: Callable[[str], str] = str) -> str:
    """Quote in one sentence the provider's statements about its images; ``spelled`` escapes markup."""
    names = [f"{spelled(each.name)} ({each.images:,})" for each in library.licences]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    files = ", ".join(spelled(each.name) for each in library.files)
    under = (
        (f"; licences: {', '.join(names[:_MOST_NAMED])}{more}" if names else "")
        + (f"; licence file: {files}" if files else "")
    )  # fmt: skip
    return (
        f"the provider says that they are real public images from a library of {library.images:,}"
        f"{under or ', and names no licence'}"
    )


def write_library_section(library: Library | None) -> str:
    """Write the card's section about licences; empty if the images were generated."""
    if library is None:
        return ""
    counts = "".join(f"- {each.images:,} images: {quote_code(each.name)}\n" for each in library.licences)
    files = "".join(_quote(each) for each in library.files)
    return (
        "## Whose images these are\n\nThe provider makes the following statements. Nobody has checked them. Anyone who "
        "passes the images on must keep to their licences.\n\n"
        f"{counts}{chr(10) if counts else ''}{files or 'The library came without a licence file.' + 2 * chr(10)}"
    )


def _quote(file: LicenceNotice) -> str:
    """Quote a file as an indented block, in which Markdown interprets no markup."""
    lines = "".join(f"    {line}\n" for line in file.text.split("\n"))
    return f"{quote_code(file.name)}, SHA-256 `{file.sha256}`, as far as the provider sent it:\n\n{lines}\n"


def quote_code(text: str) -> str:
    """Quote text as a code span, replacing backticks that would end it."""
    return f"`{text.replace('`', chr(39)) or ' '}`"


PROMISE = (
    "Nothing computed from a private {kind} is sent unless noise was added and charged to the privacy budget."
)
NO_GUARANTEE = "none: the noise came from a seed, and anyone who knows the seed can remove the noise"


def state_guarantee(plan: PublicPlan, method: Method, receipts: Iterable[Receipt]) -> Guarantee:
    """Return the guarantee that follows from plan, method and receipts."""
    events = list_events(plan, sorted(receipts, key=lambda receipt: receipt.iteration))
    # None instead of a number: with seeded noise no ε is true, and readers would quote a number.
    loss = PrivacyLoss.of(plan, events).round_up(plan.budget.epsilon) if plan.secure else None
    return Guarantee(
        epsilon_budget=float(plan.budget.epsilon),
        epsilon_spent=None if loss is None else loss.epsilon,
        epsilon_drawn=None if loss is None else loss.drawn,
        delta=plan.privacy.delta,
        relation=plan.privacy.relation,
        unit=plan.unit,
        events=tuple(events),
        statement=method.statement(plan) + _say_against_whom(plan, events) if plan.secure else NO_GUARANTEE,
        assumed_public=tuple(list_assumptions(plan)),
    )


def _say_against_whom(plan: PublicPlan, events: Sequence[Event]) -> str:
    """State against whom a sum over owners protects, and what is left if all others collude; empty for one owner."""
    if plan.clinics is None:
        return ""
    owners, delta = plan.clinics, in_full(plan.privacy.delta)
    alone = epsilon([owners.weaken(event) for event in events], plan.privacy.delta)
    left = (
        f"epsilon is {format_loss(alone)} at delta {delta}"
        if isfinite(alone)
        else "no epsilon bounds the loss"
    )
    many = owners.colluding or "none"
    return (
        f". The release is the sum of {len(owners.owners)} owners' answers, with the noise of all owners. The "
        f"guarantee holds for one unit in the data of at most {owners.holders} of them. It holds against the provider, "
        f"the coordinator and {many} of the other owners together. Against all other owners together, {left}, from the "
        "noise of one share alone"
    )


def list_events(plan: PublicPlan, receipts: Iterable[Receipt]) -> list[Event]:
    """List all events on the private data: those of the release that the run starts from, then the run's own."""
    before = () if plan.start is None else plan.start.events
    return [*before, *(event for receipt in receipts for event in receipt.events)]


def state_promise(plan: PublicPlan) -> str:
    """State in one sentence the promise that holds for every run; empty for a run with seeded noise."""
    return PROMISE.format(kind=plan.modality.kind) if plan.secure else ""


def describe_making(plan: PublicPlan, receipts: Sequence[Receipt], files: Sequence[ReleasedImage]) -> str:
    """Describe how the dataset came from the provider's answers."""
    if plan.start is not None:
        return _describe_start(plan, plan.start)
    asked = (
        ". Each round requested the prompts of the selected candidates again" if plan.varies_prompts else ""
    )
    return (
        _describe_choice(plan, receipts, files)
        + asked
        + _degree(plan)
        + _sizes(plan)
        + _appearance(plan, find_released_appearance(receipts))
    )


def _describe_choice(plan: PublicPlan, receipts: Sequence[Receipt], files: Sequence[ReleasedImage]) -> str:
    """Describe which candidates make up the dataset, and why a run ended before its plan did."""
    done = count_rounds(plan, (each.iteration for each in receipts))
    short = (
        f". Only {done} of {plan.method.iterations} rounds were made, because then {TOO_LITTLE}"
        if done < plan.method.iterations
        else ""
    )
    if plan.selects and receipts[-1].iteration == plan.releases[-1]:
        pool = "all rounds" if plan.method.iterations else "all candidates"
        return f"{plan.modality.nouns.many} selected from {pool} according to the released numbers{short}"
    if receipts and receipts[-1].is_among(each.candidate for each in files):
        return (
            f"the selection of the last release, with variations of it{short or f'. For these, {TOO_LITTLE}'}"
        )
    more = plan.method.more
    many = plan.modality.nouns.many
    return f"the {many} of the last round" + (f" and {more} more variations of each of them" if more else "")


TOO_LITTLE = "the API sent too few usable answers that differ"


def say_shortfall(plan: PublicPlan, files: int) -> str:
    """State that a dataset is smaller than planned; empty if it is not, or if class counts set its size."""
    planned = plan.method.candidates * (1 + plan.method.more) * len(plan.labels)
    if plan.class_counts or files >= planned:
        return ""
    return f"{planned} were planned; duplicates and unusable answers are left out"


def _describe_start(plan: PublicPlan, start: Start) -> str:
    """Describe which release was varied, and how."""
    degree = OWN_DEGREE if start.strength is None else f"with {plan.modality.describe_degree(start.strength)}"
    return (
        f"variations of the {plan.modality.nouns.many} of another release, {degree}. "
        f"The manifest of that release has sha256 `{start.manifest}`"
    )


def _degree(plan: PublicPlan) -> str:
    """State that the API chose the degree of variation; empty if the plan sets one."""
    own = plan.method.iterations and not plan.varies_prompts and not plan.modality.is_graded
    return (
        f". The {plan.modality.nouns.many} were varied {OWN_DEGREE}, because the API accepts no strength"
        if own
        else ""
    )


def _sizes(plan: PublicPlan) -> str:
    """State that classes were cut to the released class counts; empty if none were released."""
    return ". Its classes were cut to the proportions of released noisy counts" if plan.class_counts else ""


def _appearance(plan: PublicPlan, given: Appearance | None) -> str:
    """Describe how the dataset got its appearance; ``given`` is the appearance that its images were given."""
    matched = ". The tone, colour, sharpness and position of its images were matched to six released numbers"
    if plan.method.appearance == "auto":
        words = matched if given else matched.replace("were matched to six", "were not matched to the six")
        change = "after" if given else "without"
        return f"{words}, because the images lie nearer to the released class means {change} this change"
    return matched if given else ""


def list_assumptions(plan: PublicPlan) -> list[str]:
    """List what the guarantee assumes to be public."""
    return [
        *_owners(plan),
        *list_unit_sizes(plan),
        *_namespace(plan),
        _classes(plan),
        f"domain words: {plan.data.domain}",
        f"nominal shots per class: {plan.data.shots}",
        *_subsample(plan),
        f"candidates per class: {plan.method.candidates}; iterations: {plan.method.iterations}"
        if plan.start is None
        else f"that the run varies an earlier release ({plan.method.candidates} variations per class), and everything "
        "that the earlier release assumes",
        *_encoder(plan),
        *([_frame(plan)] if plan.encoder.frame else []),
    ]


def _owners(plan: PublicPlan) -> list[str]:
    """Describe whose data were summed, and which other owners the sum protects against."""
    if plan.clinics is None:
        return []
    owners = plan.clinics
    names = ", ".join(f"{each.name} ({each.shots} units of each class)" for each in owners.owners)
    return [
        f"owners: {names}",
        f"that at most {owners.colluding} of the {len(owners.owners)} owners collude, and that the others added their "
        "shares of the noise",
        f"that one unit is in the data of at most {owners.holders} of them",
    ]


def _classes(plan: PublicPlan) -> str:
    """State which facts about the classes are assumed to be public: their names, or only the words in prompts."""
    if not plan.data.words:
        return f"class names: {', '.join(plan.labels)}"
    text = ", ".join(each or "nothing" for each in plan.data.words)
    return f"words for the {len(plan.data.words)} classes in prompts: {text} (the owner's own class names stay private)"


def _encoder(plan: PublicPlan) -> list[str]:
    """Name the encoder that embeds private images; empty without one."""
    weights = f", weights with sha256 {plan.encoder.weights}" if plan.encoder.weights else ""
    return [f"encoder: {plan.encoder.name}{weights}"] if plan.encoder.name else []


def _frame(plan: PublicPlan) -> str:
    """Name the public frame in which private embeddings are measured."""
    return (
        f"frame (centre and axes of the embeddings): computed from public images (sha256 {plan.encoder.frame}) and the "
        "run's candidates"
    )


def _subsample(plan: PublicPlan) -> list[str]:
    """State what the guarantee covers if a run drew only some of the owner's images; empty otherwise."""
    if plan.data.subsample is None:
        return []
    return [
        f"that every class has at least {plan.data.subsample} units ({plan.unit}), each counted for one class alone. "
        f"{plan.data.subsample} units of each class are drawn, in an order that a secret seed gives. One {plan.unit} "
        f"of the folder changes up to {DRAWN_UNITS} drawn units, and the stated epsilon takes this into account"
    ]


def list_unit_sizes(plan: PublicPlan) -> list[str]:
    """State which facts about the number of images per unit are assumed to be public."""
    if plan.data.unit_size is not None:
        whose = "unit of any run on these data" if plan.unit in SINGLE else plan.unit
        return [f"at most {plan.data.unit_size} {plan.modality.nouns.many} per {whose}"]
    known = plan.unit not in SINGLE and plan.privacy.relation == "replace-one"
    return [f"how many {plan.modality.nouns.many} each {plan.unit} has"] if known else []


def _namespace(plan: PublicPlan) -> list[str]:
    """State the owner's claim that unit names are valid only within their source; empty without a namespace."""
    if not plan.namespaced:
        return []
    return [
        f"the owner's claim that no {plan.unit} here is the same as a {plan.unit} of the same name in data of another "
        "source (data.unit_namespace). Spending on names in other sources is not counted"
    ]


def state_confinement(plan: PublicPlan) -> str:
    """State how private files and the network were kept apart, as the client claims; empty without private data."""
    if plan.start is not None:
        return ""
    if plan.clinics is not None:
        return (
            "each owner's own. Every owner's command prints what keeps its private files from the network. The "
            "coordinator has no private files"
        )
    if plan.confinement is None:
        return "not enforced in this run; only the client's code keeps private files and the network apart"
    return (
        f"enforced {plan.confinement.words}, so no process can both read a private file and open a connection"
    )


def name_confinement(plan: PublicPlan) -> str:
    """State in a few words whether private files and the network were kept apart; empty without private data."""
    if plan.start is not None:
        return ""
    if plan.clinics is not None:
        return "each owner's own"
    return "not enforced here" if plan.confinement is None else f"enforced {plan.confinement.words}"


def list_marks(plan: PublicPlan) -> list[str]:
    """List the warnings that cannot be switched off."""
    marks = [] if plan.secure else ["INSECURE: noise came from a seed; this run has no privacy"]
    if plan.privacy.forget_insecure:
        marks.append(
            "INSECURE runs on the same data are left out of the account (privacy.forget_insecure). They revealed more "
            "than is stated here"
        )
    return marks
