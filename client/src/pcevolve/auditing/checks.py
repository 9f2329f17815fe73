"""The claims of an audit about one run. Each is checked separately and has its own faults."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

from pcevolve.auditing.lines import collect, find_body_faults
from pcevolve.auditing.rebuilt import RebuiltRelease, check_exports
from pcevolve.auditing.rerun import LoadEncoder, Rerun, Selections
from pcevolve.auditing.second_check import find_request_faults
from pcevolve.errors import ClientError
from pcevolve.public.canonical import find_written, list_unused
from pcevolve.public.finding import Finding
from pcevolve.public.methods import list_choice_parameters
from pcevolve.public.parts import Exact, Library
from pcevolve.public.plan import PublicPlan
from pcevolve.public.transcript.irregular import KIND_NAMES, advise_deletion, kind_of
from pcevolve.public.transcript.layout import AUDIT, EXPORTS, KINDS, LOCK, RELEASE, REPORT, SUMMARY
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import GREETING_SLOT, Answered
from pcevolve.wire.egress.answers import is_same_model
from pcevolve.wire.providers import dialect


def check_record(run: RunReader, again: Rerun) -> list[Finding]:
    """Check the claims that apply to every record, and count the items that each claim covers."""
    planless = run.plan is None and not run.finished
    failed = sum(each.failure is not None for each in run.traffic.attempts)
    exchanged = again.key.exchanged
    free = [f"{failed} requests got no answer"] * bool(failed) + [
        f"{exchanged} answers came under a different key"
    ] * bool(exchanged)
    room = f"; only the record says that {' and '.join(free)}" if free else ""
    return [
        Finding(
            "every recorded body is complete and unchanged, and nothing else is stored",
            collect(find_body_faults(run)),
            run.bodies_on_record,
        ),
        Finding(
            "a rerun of the plan with the recorded answers sends exactly the recorded requests, in the "
            f"same order{room}",
            (*collect(_terms(run)), *again.requests),
            run.requests,
            pending="no plan is on record yet, so no prompt was sent" if planless else "",
        ),
        Finding(
            "every image that was sent had come from the API and was named by the plan or a receipt; the "
            "rest of each request follows from the plan",
            collect(find_request_faults(run)),
            run.requests,
        ),
        Finding(
            "the receipts pay for every release exactly once, at the planned price",
            tuple(again.receipts),
            len(run.receipts),
        ),
        Finding(
            "no release was made from fewer usable candidates than the plan requires",
            tuple(again.unusable),
            len(run.receipts),
        ),
    ]


def check_choices(run: RunReader, again: Rerun, load: LoadEncoder) -> list[Finding]:
    """Check that every choice follows from the paid measurements; empty if nothing was measured."""
    measured = sum(1 for each in run.receipts if each.measured)
    if not measured and run.assessment is None:
        return []
    claim, chosen = (
        "every selection follows from released measurements that were paid for",
        Selections(run, again, load),
    )
    if why := chosen.why_unchecked():
        return [
            Finding(
                claim,
                (),
                0,
                f"none of {measured} measurements and none of the selections from them were checked: {why}",
            )
        ]
    return [Finding(claim, collect(chosen.faults()), measured)]


def check_end(run: RunReader) -> Finding:
    """Check that the run was finished.

    Only a finished run has a record whose end is known. A run in progress has released nothing.

    A closed record without a release may have been cut off, or somebody may have removed the release. In either case
    the run counts as unfinished, and files derived from a release are faults.
    """
    claim, made = "end of the run", list_derived(run)
    there = run.finished and run.layout.manifest.is_file()
    if there:
        return Finding(claim, (), 1)
    end = "the run did not finish, so lines may be missing at the end of transcript/log.jsonl"
    why = f"{end}{', and the last line is incomplete' if run.torn else ''}"
    if made:
        return Finding(claim, (f"{why}, but the folder contains {', '.join(made)}",), 0)
    return Finding(claim, (), 0, pending=f"{why}; {run.advice}")


def list_derived(run: RunReader) -> list[str]:
    """List the entries of the folder that are derived from a closed record; links are not followed."""
    names = (RELEASE, SUMMARY, REPORT, *EXPORTS.values())
    return [name for name in names if kind_of(run.layout.root / name) is not None]


def check_release(released: RebuiltRelease) -> list[Finding]:
    """Rebuild the shareable data from the transcript, and compare them byte for byte with the released files."""
    claim, faults = "the release equals, byte for byte, what the record gives", collect(released.faults())
    made = Finding(claim, faults, len(released.files))
    try:
        return [made, *check_exports(released)]
    except (ClientError, ArithmeticError, LookupError, TypeError, ValueError):
        # Nothing can be derived from such a record; its faults are in the finding about the release.
        return [made]


def check_folder(run: RunReader, finished: bool) -> Finding:
    """Check that every name in the run's folder is one that a run uses.

    A crash may leave partial files, so in the folder of a run in progress only the known names are checked.
    """
    faults = []
    there = sorted(run.layout.root.iterdir())
    for path in there:
        kind = kind_of(path)
        if path.name not in KINDS:
            removal = f"pcevolve report {shlex.quote(str(run.layout.root))} removes it"
            clearing = f"; an interrupted command may have left it: {removal}"
            hint = clearing if path.name.endswith((".partial", ".fresh")) else advise_deletion(path.name)
            faults += [f"{path.name!a} does not belong to a run{hint}"] if finished else []
        elif kind != KINDS[path.name]:
            faults.append(f"{path.name} is {KIND_NAMES.get(kind or 0, 'no plain file')}")
    # Omit the audit's pages and the lock, so that the count is the same before and after an audit.
    count = sum(path.name not in {AUDIT, LOCK} for path in there)
    return Finding("the run's folder contains only files that belong to a run", tuple(faults), count)


def _read_statements(run: RunReader, plan: PublicPlan) -> tuple[Library | None, Exact | None]:
    """Return the provider's statements on public images and repeated requests, from the answer to the greeting."""
    answers = (each.record for each in run.entries if isinstance(each.record, Answered))
    greetings = (each for each in answers if each.slot == GREETING_SLOT and each.succeeded)
    greeting = next(greetings, None)
    if greeting is None:
        return None, None
    api_dialect, body = dialect(plan.provider.dialect), run.bodies.get(greeting.body)
    return api_dialect.library(plan.provider.model, body), api_dialect.exact(plan.provider.model, body)


def _answers_by_another_name(run: RunReader, plan: PublicPlan) -> bool:
    """True if an answer to a call of the plan named another model than the plan requests."""
    api_dialect = dialect(plan.provider.dialect)
    answers = (each.record for each in run.entries if isinstance(each.record, Answered))
    named = (
        api_dialect.answered_by(run.bodies.get(each.body)) for each in answers if each.slot in plan.calls
    )
    return any(each and not is_same_model(plan.provider.model, each) for each in named)


def _terms(run: RunReader) -> Iterator[str]:
    """Check that the plan is for this run and API, and repeats the API's statements about its images."""
    plan, opened = run.plan, run.opened
    if plan is None:
        if run.finished:
            yield "no plan is on record, so no request had a reason to leave"
        return
    if (opened.run_id, opened.api, opened.dialect) != (plan.run_id, plan.provider.api, plan.provider.dialect):
        yield "the plan is for another run, address or dialect than the record was opened for"
    # In a run that starts from a release, the name is copied from the source run.
    if plan.provider.answered_by and plan.start is None and not _answers_by_another_name(run, plan):
        yield "the plan has another name for the model, by which no answer named that model"
    if opened.proxied and not plan.provider.api.startswith("https:"):
        yield "line 1: a proxy carries https alone"
    if (plan.library, plan.exact) != _read_statements(run, plan):
        yield "the plan says another thing of the provider's images than the provider did"


_CLAIMED: Final = (
    "run_id", "output.licence", "data.words", "unit", "namespaced", "provider.operator",
    "provider.retention", "provider.seed", "provider.answered_by", "provider.image_hosts",
    "provider.batch", "provider.at_once", "data.domain", "data.shots", "data.subsample",
    "data.unit_size", "data.window", "privacy.epsilon", "privacy.delta", "privacy.relation",
    "privacy.forget_insecure", "noise", "earlier", "secrecy", "method.name", "method.min_usable",
    "confinement", "start",
)  # fmt: skip


def list_claims(plan: PublicPlan) -> dict[str, Any]:
    """Return the recorded values of a plan that the record alone does not prove, by path."""
    unused, written = {*list_unused(plan)}, plan.model_dump(mode="json")
    claimed: dict[str, Any] = {path: find_written(written, path) for path in _CLAIMED if path not in unused}
    if plan.clinics is not None:
        # Signatures prove the owners, but only their word states who may collude and how many hold one unit's data.
        claimed["clinics"] = written["clinics"]
    own = list_choice_parameters(type(plan.method))
    claimed |= {f"method.{name}": value for name, value in written["method"].items() if name in own}
    return claimed | {path: find_written(written, path) for path in plan.modality.list_unproven()}


def list_claims_of(run: RunReader) -> dict[str, Any]:
    """Return the unproven claims of a run's plan and of its route to the API; empty without a plan."""
    if run.plan is None:
        return {}
    opened = run.opened
    return {**list_claims(run.plan), "authority": opened.authority, "proxied": opened.proxied}
