"""The audit: a list of claims, each checked on its own, each with what is wrong if it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from pcevolve_shared import images

from .. import methods
from ..appearance import AS_IS, MATCHED, appearance_in
from ..budget.accountants import within
from ..egress.records import Answered, Sent
from ..errors import ClientError
from ..plan import PublicPlan
from ..providers import dialect
from ..publish import CARD, MANIFEST, clean_image, guarantee
from .evidence import Evidence
from .replay import Replay


@dataclass(frozen=True)
class Finding:
    """One claim and whether it holds.

    Attributes:
        claim: What was checked, in plain words.
        faults: What is wrong; empty when the claim holds.
        checked: How many things were looked at.
    """

    claim: str
    faults: tuple[str, ...]
    checked: int

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def audit(root: Path) -> list[Finding]:
    """Check a run; every fault is told, none stops the rest unless nothing can be read."""
    try:
        evidence = Evidence.of(root)
    except ClientError as error:
        return [Finding("the chain of records is unbroken", (str(error),), 0)]
    chain = Finding("the chain of records is unbroken", (), len(evidence.entries))
    checks: list[tuple[str, Callable[[Evidence], Iterable[str]], int]] = [
        ("the run is finished and the manifest names the end of the chain", _anchored, 1),
        (
            "every recorded body is complete and unchanged, and nothing else is stored",
            _bodies,
            evidence.bodies_on_record,
        ),
        (
            "every request is what the public plan and its receipt give, byte for byte",
            _requests,
            evidence.requests,
        ),
        ("the receipts pay for every release, once, at the planned price", _receipts, len(evidence.receipts)),
        ("the dataset is the last round's answers, or what a receipt selects", _dataset, _listed(evidence)),
    ]
    return [chain] + [Finding(claim, _collect(check, evidence), count) for claim, check, count in checks]


def _collect(check: Callable[[Evidence], Iterable[str]], evidence: Evidence) -> tuple[str, ...]:
    faults: list[str] = []
    try:
        faults.extend(check(evidence))
    except ClientError as error:
        faults.append(str(error))
    return tuple(faults)


def _listed(evidence: Evidence) -> int:
    try:
        return len(evidence.manifest["files"]) if evidence.manifest else 0
    except ClientError:
        return 0


def _anchored(evidence: Evidence) -> Iterator[str]:
    if not evidence.finished or evidence.manifest is None:
        yield "the run is unfinished: the end of its record is not anchored, so lines may be missing there"
        return
    last = evidence.entries[-1]
    if evidence.manifest["transcript"] != {"head": last.digest, "lines": len(evidence.entries)}:
        yield "the manifest names another end of the chain"
    if evidence.plan is None or _plan_in(evidence.manifest) != evidence.plan:
        yield "the manifest describes another plan than the one on record"


def _plan_in(manifest: dict[str, Any]) -> PublicPlan | None:
    """The plan that a manifest describes; a version before may have known fewer of its fields."""
    try:
        return PublicPlan.model_validate_json(json.dumps(manifest["plan"]))
    except ValidationError:
        return None


def _bodies(evidence: Evidence) -> Iterator[str]:
    for entry in evidence.entries:
        if isinstance(entry.record, Sent | Answered):
            try:
                evidence.bodies.get(entry.record.body)
            except ClientError as error:
                kind = "request" if isinstance(entry.record, Sent) else "answer"
                yield f"{kind} {entry.record.slot} (line {entry.seq + 1}): {error}"
    for name in evidence.stray_files():
        yield f"transcript/{name} belongs to no record"


def _requests(evidence: Evidence) -> Iterator[str]:
    if evidence.plan is None:
        yield "no plan is on record, so no request had a reason to leave"
        return
    opened, plan = evidence.opened, evidence.plan
    if (opened.run_id, opened.api, opened.dialect) != (plan.run_id, plan.api, plan.dialect):
        yield "the plan is for another run, address or dialect than the record was opened for"
    yield from Replay(evidence, plan, dialect(plan.dialect)).faults()


def _receipts(evidence: Evidence) -> Iterator[str]:
    plan = evidence.plan
    if plan is None:
        return
    yield from _prices(evidence, plan)
    events = [event for receipt in evidence.receipts for event in receipt.events]
    if not within(events, plan.budget):
        yield f"the receipts add up to more than the budget of {float(plan.budget.epsilon):g}"
    if evidence.manifest is not None:
        claimed = evidence.manifest["guarantee"]
        for name, value in guarantee(plan, evidence.receipts).items():
            if claimed.get(name) != value:
                yield f"the manifest claims another {name} than plan and receipts"


def _prices(evidence: Evidence, plan: PublicPlan) -> Iterator[str]:
    expected = methods.method(plan.method).planned(plan)
    seen: set[int] = set()
    for receipt in evidence.receipts:
        where = f"receipt for iteration {receipt.iteration}"
        if (receipt.run_id, receipt.relation) != (plan.run_id, plan.relation):
            yield f"{where}: for another run or relation"
        if receipt.events != expected.get(receipt.iteration):
            yield f"{where}: not the planned price or mechanism"
        wanted = plan.wanted(receipt.iteration)
        due = [(label, wanted) for label in plan.labels if wanted]
        if [(each.label, len(each.chosen)) for each in receipt.choices] != due:
            yield f"{where}: names other classes or numbers of prototypes than the plan"
        if receipt.iteration and receipt.values not in _settled(plan):
            yield f"{where}: says something about the appearance that the plan does not leave open"
        if receipt.iteration in seen:
            yield f"{where}: drawn twice"
        seen.add(receipt.iteration)
    if evidence.finished and seen != set(expected):
        yield f"{len(seen)} rounds have receipts where the plan has {len(expected)}"


def _settled(plan: PublicPlan) -> tuple[tuple[float, ...], ...]:
    """What a receipt for prototypes may say about the appearance."""
    return (AS_IS, MATCHED) if plan.appearance == "auto" else ((),)


def _dataset(evidence: Evidence) -> Iterator[str]:
    plan, manifest = evidence.plan, evidence.manifest
    if plan is None or manifest is None:
        return
    listed = {each["path"]: each for each in manifest["files"]}
    due = _due(evidence, plan)
    missing = set(due) - {each["candidate"] for each in listed.values()} - set(manifest.get("unreadable", ()))
    for candidate in sorted(missing):
        yield f"{candidate} belongs to the dataset but is not in it"
    for path, entry in listed.items():
        made = due.get(entry["candidate"])
        if made is None or made != entry["received_sha256"]:
            yield f"{path} is not among the images that make up the dataset"
        elif not _same(evidence, path, entry["sha256"], made):
            yield f"{path} is not the image that the provider sent"
    for candidate in manifest.get("unreadable", ()):
        if candidate in due and _readable(evidence, due[candidate]):
            yield f"{candidate} is said to be unreadable, but it is an image"
    found = {p.relative_to(evidence.release).as_posix() for p in evidence.release.rglob("*") if p.is_file()}
    for extra in sorted(found - set(listed) - {MANIFEST, CARD}):
        yield f"release/{extra} is not in the manifest"


def _due(evidence: Evidence, plan: PublicPlan) -> dict[str, str]:
    """Id and digest of what has to be in the dataset: what the last receipt selects, or the last population."""
    if plan.selects:
        last = (each for each in evidence.receipts if each.iteration == plan.releases[-1])
        return {one.id: one.digest for each in last for choice in each.choices for one in choice.chosen}
    calls = (*plan.round(plan.iterations), *plan.extensions())
    return {
        call.output(index): digest
        for call in calls
        for index, digest in enumerate(evidence.outputs.get(call.slot, ()))
    }


def _readable(evidence: Evidence, digest: str) -> bool:
    try:
        clean_image(evidence.bodies.file(digest))
    except images.ImageError:
        return False
    return True


def _same(evidence: Evidence, path: str, sha256: str, received: str) -> bool:
    """Whether a file is what publishing makes of received bytes; matching may round differently elsewhere."""
    wanted = appearance_in(evidence.receipts)
    try:
        data = (evidence.release / path).read_bytes()
        expected = clean_image(evidence.bodies.file(received), wanted)
        alike = data == expected or (wanted is not None and _close(data, expected))
    except (OSError, images.ImageError):
        return False
    return alike and hashlib.sha256(data).hexdigest() == sha256


def _close(one: bytes, other: bytes) -> bool:
    """Whether two images differ by one level at most."""
    first, second = (np.asarray(images.decode(each), dtype=int) for each in (one, other))
    return first.shape == second.shape and bool(np.abs(first - second).max(initial=0) <= 1)
