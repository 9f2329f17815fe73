"""Rewrites a finished run so that its chain is whole again: what a lying client could hand to an auditor."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcevolve.auditing import audit
from pcevolve.errors import ClientError
from pcevolve.public.calls import Call
from pcevolve.public.loop.lineage import Pool, Population, cut_to_proportion, join_populations
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.release import DatasetRelease, describe_file, name_files, write_card
from pcevolve.public.release import Candidate, Chosen, Receipt
from pcevolve.public.transcript.bodies import Bodies, BodyRef
from pcevolve.public.transcript.chain import GENESIS, Line, digest
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import RunReader

Event = dict[str, Any]


def forge(root: Path, change: Callable[[list[Event]], list[Event] | None]) -> None:
    """Replace the events of a transcript, chain them anew and anchor the new end in the manifest.

    Args:
        root: The run's folder.
        change: Changes the events where they stand, or returns others.
    """
    log = root / "transcript" / "log.jsonl"
    events = [json.loads(line)["event"] for line in log.read_bytes().splitlines()]
    events = change(events) or events
    previous, lines = GENESIS, []
    for seq, event in enumerate(events):
        raw = Line(seq=seq, prev=previous, event=event).encode()
        lines.append(raw)
        previous = digest(raw)
    log.write_bytes(b"".join(lines))
    reissue(root)


def find_event(events: Iterable[Event], kind: str) -> Event:
    """The first event of a kind."""
    return next(each for each in events if each["kind"] == kind)


def faults_of(root: Path) -> list[str]:
    """All that an audit has against a run."""
    return [fault for finding in audit(root) for fault in finding.faults]


def reissue(root: Path) -> None:
    """Make manifest and card anew, as a forger who has our code would; images stay, and nobody reads views."""
    evidence = RunReader.strict(root)
    plan, receipts = evidence.plan, evidence.receipts
    if plan is None:
        return
    release = root / "release"
    due = name_files(plan, Populations(plan, evidence.outputs).dataset(receipts))
    there = {path: each for path, each in due.items() if (release / path).is_file()}
    files = [describe_file(path, (release / path).read_bytes(), each) for path, each in there.items()]
    unreadable = [each.id for path, each in due.items() if path not in there]
    made = DatasetRelease.of(evidence, {})
    with suppress(ClientError):  # a plan or receipt of which nothing follows
        RunLayout(root).manifest.write_bytes(made.manifest(files, unreadable).encode())
        RunLayout(root).card.write_text(write_card(made, files))


def rewrite_body(root: Path, event: Event, change: Callable[[bytes], bytes]) -> Event:
    """The event with another body, which is stored as a run would store it."""
    bodies = Bodies(root / "transcript" / "bodies")
    before = bodies.get(BodyRef(**event["body"]))
    after = change(before)
    size = event["wire_bytes"] + len(after) - len(before)
    headers = [
        [name, str(len(after)) if name == "Content-Length" else value] for name, value in event["headers"]
    ]
    return {**event, "body": bodies.put(after).model_dump(), "wire_bytes": size, "headers": headers}


@dataclass(frozen=True)
class Populations:
    """The candidates of a run as its record names them, however little sense that makes.

    Attributes:
        plan: Says which call belongs to which population.
        outputs: Digests of what each call brought, by slot, in order.
    """

    plan: PublicPlan
    outputs: Mapping[str, tuple[str, ...]]

    def pool(self, iteration: int) -> Pool:
        last = max(iteration - 1, 0)
        shown = range(last + 1) if self.plan.method.pool == "all" else range(last, last + 1)
        views: dict[str, tuple[Candidate, ...]] = {}
        for call in (call for t in shown for call in self.plan.lookaheads(t)):
            views[call.source or ""] = views.get(call.source or "", ()) + self._bring(call)
        return Pool(join_populations(self.plan.labels, [self._of(self.plan.round(t)) for t in shown]), views)

    def dataset(self, receipts: Iterable[Receipt]) -> dict[str, tuple[Chosen, ...]]:
        """The whole dataset, by class, in order."""
        plan, known = self.plan, list(receipts)
        if plan.selects:
            last = [each for each in known if each.iteration == plan.releases[-1]][-1:]
            kept = {label: tuple(one for each in last for one in each.of(label)) for label in plan.labels}
        else:
            kept = self._name([*plan.round(plan.method.iterations), *plan.extensions()])
        return cut_to_proportion(plan, known, kept)

    def _name(self, calls: Iterable[Call]) -> dict[str, tuple[Chosen, ...]]:
        made = self._of(calls)
        return {
            label: tuple(Chosen(each.id, each.digest) for each in made[label]) for label in self.plan.labels
        }

    def _of(self, calls: Iterable[Call]) -> Population:
        found: dict[str, tuple[Candidate, ...]] = dict.fromkeys(self.plan.labels, ())
        for call in calls:
            found[call.label] += self._bring(call)
        return found

    def _bring(self, call: Call) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(call.output(index), call.label, call.iteration, None, digest)
            for index, digest in enumerate(self.outputs.get(call.slot, ()))
        )
