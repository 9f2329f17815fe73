"""The page with everything that crossed the wire.

Each picture is the background of a CSS class, so that its bytes appear once. ``img`` elements would repeat the
bytes wherever a prototype, its answer and its retries are shown.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Template

from pcevolve.errors import TranscriptError
from pcevolve.public.figures import format_loss, spell_size
from pcevolve.public.finding import Finding
from pcevolve.public.media import find_medium
from pcevolve.public.modality import MODALITIES, Kind
from pcevolve.public.pages.reasons import Reasons
from pcevolve.public.pages.rendering import (
    compile_page,
    encode_uri,
    inline_parts,
    read_own,
    read_style,
    shorten,
)
from pcevolve.public.pages.wire.folding import FoldedRequest, cut, fold, group_requests, list_fields
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event, MechanismName
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.publish.promises import list_events, list_marks
from pcevolve.public.publish.statements import list_checks, list_statements
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.traffic import Attempt, Counts, RecordedReceipt, Traffic

PARAMETERS: dict[MechanismName, str] = {
    "exponential": "bounded range η",
    "permute-and-flip": "pure ε",
    "gaussian": "noise multiplier",
}


@dataclass(frozen=True)
class Price:
    """ε at the run's δ; None if no accountant bounds it.

    Attributes:
        own: ε of one receipt alone.
        total: ε of all receipts so far.
    """

    own: PrivacyLoss | None
    total: PrivacyLoss | None


def price_receipts(receipts: Iterable[RecordedReceipt], plan: PublicPlan | None) -> dict[int, Price]:
    """Return the price of each receipt for any unit of the private folder, by the receipt's line in the transcript."""
    events: list[Event] = []
    by_line = {}
    for each in receipts:
        events.extend(each.receipt.events)
        by_line[each.line] = Price(_loss(each.receipt.events, plan), _loss(events, plan))
    return by_line


def spell_event(event: Event) -> str:
    """Describe an event: ``2 × exponential, bounded range η = 2.5``."""
    times = f"{event.count} × " if event.count > 1 else ""
    meaning = PARAMETERS.get(event.mechanism)
    if meaning:
        return f"{times}{event.mechanism}, {meaning} = {_short(event)}"
    return f"{times}{event.mechanism}, costs nothing"


def _short(event: Event) -> str:
    try:
        return f"{float(event.value):.6g}"
    except (ArithmeticError, ValueError):  # too large for a float
        return event.parameter


def _loss(events: Sequence[Event], plan: PublicPlan | None) -> PrivacyLoss | None:
    """Return the loss of events. None for a forged record without a plan, or with events that have no price."""
    if plan is None:
        return None
    try:
        return PrivacyLoss.of(plan, events)
    except (ArithmeticError, ValueError):
        return None


MOST_PICTURE_BYTES = 6_000_000  # about 3000 pictures


@dataclass(frozen=True)
class WirePicture:
    """How an image is shown.

    Attributes:
        name: CSS class; empty for no picture.
    """

    state: str
    name: str = ""
    bytes: int = 0
    text: str = ""


class Gallery:
    """Pictures by digest. The pictures that are added first get the available bytes."""

    def __init__(
        self, file: Callable[[str], bytes], kind: Kind = "image", most_bytes: int = MOST_PICTURE_BYTES
    ) -> None:
        self._file, self._kind = file, kind
        self._bytes_left = most_bytes
        self._rules: list[str] = []
        self._pictures: dict[str, WirePicture] = {}

    def __getitem__(self, digest: str) -> WirePicture:
        """Return the picture of an image that was added."""
        return self._pictures[digest]

    def __len__(self) -> int:
        return len(self._rules)

    @property
    def style(self) -> str:
        """The CSS rules that show the pictures, each as the background of its own class."""
        return "\n".join(self._rules)

    def hang(self, digest: str) -> None:
        """Make the thumbnail of an image, unless it exists."""
        if digest not in self._pictures:
            self._pictures[digest] = self._make(digest)

    def _make(self, digest: str) -> WirePicture:
        if self._bytes_left <= 0:
            return WirePicture("not embedded")
        try:
            data = self._file(digest)
        except TranscriptError:
            return WirePicture("missing or changed")
        found = find_medium(self._kind).show(data)
        if found.jpeg:
            return self._frame(found.jpeg, len(data))
        text = shorten(found.text)
        self._bytes_left -= len(text.encode())
        return WirePicture(
            "shown" if text else f"not {MODALITIES[self._kind].nouns.an}", bytes=len(data), text=text
        )

    def _frame(self, jpeg: bytes, length: int) -> WirePicture:
        """Return a picture with a CSS class of its own; ``length`` is the length of the original in bytes."""
        name = f"p{len(self._rules)}"
        rule = f".{name}{{background-image:url({encode_uri(jpeg)})}}"
        self._bytes_left -= len(rule)
        self._rules.append(rule)
        return WirePicture("shown", name, length)


MOST_FAULTS = 50  # most faults that are shown of one finding
_LINE = re.compile(r"\(line (\d{1,9})\)")


def render_viewer(
    run: RunReader, findings: Sequence[Finding], most_picture_bytes: int = MOST_PICTURE_BYTES
) -> bytes:
    """Render the page from the transcript and the audit's findings alone. All strings are escaped.

    The run may be unfinished or damaged. The page then states the fault and shows all readable entries.
    """
    reasons = Reasons.of(run.traffic)
    kind = "image" if run.plan is None else run.plan.modality.kind
    gallery = _hung(run.traffic, reasons, Gallery(run.bodies.file, kind, most_picture_bytes))
    verdict = _verdict(run, findings)
    steps = fold(
        (each for each in run.traffic.steps if isinstance(each, Attempt | RecordedReceipt)),
        verdict["faults_of"],
    )
    content = _assets(gallery) | verdict | _content(run.traffic, reasons, gallery) | _steps(steps)
    return compile_template(kind).render(content).encode()


def compile_template(kind: Kind = "image") -> Template:
    return compile_page(
        "wire/page",
        kind,
        size=spell_size,
        in_words=spell_event,
        fields=list_fields,
        cut=cut,
        loss=format_loss,
    )


def _assets(gallery: Gallery) -> dict[str, Any]:
    return {
        "style": inline_parts(read_style(), read_own("wire/page.css")),
        "pictures": inline_parts(gallery.style),
        "script": inline_parts(read_own("wire/page.js")),
    }


def _verdict(run: RunReader, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the verdict at the top of the page. Without findings, it states that nothing was checked."""
    faults = [fault for finding in findings for fault in finding.faults]
    if run.trouble is not None and run.trouble not in faults:
        faults.insert(0, run.trouble)
    if not findings:
        faults.append("nothing was checked")
    return {
        "findings": findings,
        "faults": faults,
        "pending": [finding.pending for finding in findings if finding.pending],
        "unchecked": [finding.unchecked for finding in findings if finding.unchecked],
        "most_faults": MOST_FAULTS,
        "faults_of": _by_line(faults),
        "trouble": run.trouble,
        "proven": run.proven,
        "lines": len(run.entries),
        "head": run.head if run.trouble is None and run.entries else None,
    }


def _content(traffic: Traffic, reasons: Reasons, gallery: Gallery) -> dict[str, Any]:
    plan = traffic.plan
    return {
        "plan": plan,
        "marks": [] if plan is None else list_marks(plan),
        "budget": None if plan is None else float(plan.budget.epsilon),
        "receipts": traffic.receipts,
        "line_of": {each.receipt: each.line for each in traffic.receipts},
        "carried": reasons.carried,
        "varied_prompts": reasons.prompts,
        "brought": reasons.brought,
        "named": reasons.named,
        "first_returns": reasons.first_returns,
        "unexplained": reasons.unexplained,
        "prices": price_receipts(traffic.receipts, plan),
        "statements": _list_statements(traffic),
        "checks": [] if plan is None else list_checks(plan),
        "gallery": gallery,
        "totals": reasons.counts(traffic.attempts),
        "kinds": Counts.by_kind(traffic.attempts, reasons.counts),
        "hosts": list_hosts(traffic.attempts),
    }


def _list_statements(traffic: Traffic) -> list[tuple[str, str]]:
    """Return statements about the run.

    The list is empty for a forged record without a plan, or with events that no accountant can price.
    """
    if traffic.plan is None:
        return []
    try:
        receipts = (each.receipt for each in traffic.receipts)
        return list_statements(traffic.plan, list_events(traffic.plan, receipts))
    except (ArithmeticError, ValueError):
        return []


def _steps(steps: Sequence[FoldedRequest | RecordedReceipt]) -> dict[str, Any]:
    """Return all steps in order with each request once, the requests in groups, and the start of each iteration."""
    requests = [each for each in steps if isinstance(each, FoldedRequest)]
    return {
        "steps": steps,
        "requests": len(requests),
        "groups": group_requests(requests),
        "rounds": _rounds(steps),
    }


def list_hosts(attempts: Iterable[Attempt]) -> list[str]:
    """List every host that a request was sent to or names in a header, in order of appearance."""
    named: dict[str, None] = {}
    for each in attempts:
        named.setdefault(_host(each.sent.url))
        for name, value in each.sent.headers:
            if name.lower() == "host":
                named.setdefault(value)
    return list(named)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return url


def _rounds(steps: Iterable[FoldedRequest | RecordedReceipt]) -> dict[int, str]:
    anchors: dict[int, str] = {}
    for step in steps:
        if isinstance(step, RecordedReceipt):
            anchors.setdefault(step.receipt.iteration, f"l{step.line}")
        elif step.shown.call is not None:
            anchors.setdefault(step.shown.call.iteration, f"r{step.shown.number}")
    return anchors


def _hung(traffic: Traffic, reasons: Reasons, gallery: Gallery) -> Gallery:
    """Add sent images first, because they must be visible. Received images get the remaining bytes."""
    left = (each.digest for images in reasons.carried.values() for each in images)
    came = (each.digest for images in reasons.brought.values() for each in images)
    choices = (choice for each in traffic.receipts for choice in each.receipt.choices)
    chosen = (each.digest for choice in choices for each in choice.chosen)
    for digest in (*left, *came, *chosen):
        gallery.hang(digest)
    return gallery


def _by_line(faults: Iterable[str]) -> dict[int, list[str]]:
    by_line: dict[int, list[str]] = defaultdict(list)
    for fault in faults:
        named = _LINE.search(fault)
        if named is not None:
            by_line[int(named[1])].append(fault)
    return dict(by_line)
