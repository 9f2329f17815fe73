"""Build the report page: one file that contains its styles, pictures and charts, and no script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Template

from pcevolve.public.durable import write_durably
from pcevolve.public.figures import format_factor, format_loss, spell_size
from pcevolve.public.modality import Described, Kind
from pcevolve.public.pages.reasons import TrafficTable
from pcevolve.public.pages.rendering import compile_page, inline_parts, read_own, read_style
from pcevolve.public.pages.report.brief import Brief
from pcevolve.public.pages.report.charts import (
    AccuracyPoint,
    Protection,
    draw_curves,
    spell_percent,
    sum_spent,
)
from pcevolve.public.pages.report.sheets import (
    ROWS,
    TILES_PER_ROW,
    SheetRow,
    draw_sheets,
    show_beside,
    show_dataset,
    show_opening,
    spread_evenly,
)
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.loss import PrivacyLoss, state_cumulative_loss
from pcevolve.public.publish.promises import (
    describe_library,
    state_promise,
)
from pcevolve.public.publish.statements import list_checks, list_statements
from pcevolve.public.release import count_rounds
from pcevolve.public.selectors import find_method
from pcevolve.public.selectors.method import first_selection, scope_of
from pcevolve.public.selectors.rounds import uniform_lift
from pcevolve.public.transcript.reader import FinishedRun, RunReader

CONTROL, SHOTS = "random control", "private shots"
"""Names of the points that are not the run's own."""


@dataclass(frozen=True)
class Glance:
    """Images and accuracy before and after the run."""

    before: SheetRow
    after: list[SheetRow]
    figures: tuple[tuple[str, str], ...]
    judge: str
    chance: str

    @classmethod
    def of(cls, run: FinishedRun, accuracy: Sequence[AccuracyPoint]) -> Glance | None:
        """Return a run's comparison if a judge that did not vote measured accuracy on public images; otherwise None."""
        trusted = [point for point in accuracy if not point.voted]
        if not trusted or run.plan.modality.refuses_sheets:
            return None
        judge, labels = trusted[0].judge, run.plan.labels
        own = [point for point in trusted if point.judge == judge]
        return cls(
            show_opening(run, 2 * TILES_PER_ROW),
            [show_dataset(run, label, label, TILES_PER_ROW) for label in labels],
            tuple((title, spell_percent(point.mean)) for title, point in _figures(run.plan.method.name, own)),
            judge,
            spell_percent(1 / len(labels)),
        )


def _figures(method: str, points: Sequence[AccuracyPoint]) -> list[tuple[str, AccuracyPoint]]:
    """Select the points that the page shows, with a title for each.

    The page shows the last iteration of the run's method, of the control and of the private images. If there are
    several points of the method, the first of them is shown too, because its images come from the words alone.
    """
    ordered = sorted(points, key=lambda each: each.iteration)
    of_run = [each for each in ordered if each.name == method]
    last = {each.name: each for each in ordered}
    found = [("the words alone", of_run[0])] if len(of_run) > 1 else []
    wanted = (("a random choice", CONTROL), ("this dataset", method), ("the private images", SHOTS))
    return found + [(title, last[name]) for title, name in wanted if name in last]


NO_OTHERS: Mapping[str, Any] = {}
RELATIONS = {
    "replace-one": "one {unit} is exchanged for any other",
    "add-remove": "one {unit} is added or taken away",
}


def write_report(
    run: RunReader,
    accuracy: Sequence[AccuracyPoint] = (),
    page: Path | None = None,
    others: Mapping[str, RunReader] = NO_OTHERS,
    measured: Mapping[str, Any] = NO_OTHERS,
) -> Path:
    """Write the page about a finished run; an existing page is replaced.

    Args:
        accuracy: Figures on held-out data, for the owner's own page. They do not follow from the transcript.
        page: Target; by default ``report.html`` in the run's folder, which may be shared.
        others: Finished runs on the same classes, by name, to compare with on the owner's page.
        measured: Verdict, sentence and advice from figures on held-out data, for the owner's page.

    Raises:
        UsageError: The run is unfinished.
        TranscriptError: Its manifest is damaged.
    """
    page = page or run.layout.report
    compared = {name: FinishedRun.of(other) for name, other in others.items()}
    html = render(FinishedRun.of(run), accuracy, others=compared, measured=measured)
    write_durably(page, html.encode())
    return page


def render(
    run: FinishedRun,
    accuracy: Sequence[AccuracyPoint],
    wire_page: str = "",
    others: Mapping[str, FinishedRun] = NO_OTHERS,
    measured: Mapping[str, Any] = NO_OTHERS,
) -> str:
    """Render the page. Every string from the run is escaped. ``wire_page`` is a page in the same folder to link to."""
    style = inline_parts(read_style(), read_own("report/chart.css"), read_own("report/page.css"))
    return compile_template(run.plan.modality.kind).render(
        {
            "style": style,
            "wire_page": wire_page,
            "measured": measured,
            **_content(run, accuracy),
            **_compare(run, others),
        }
    )


def compile_template(kind: Kind = "image") -> Template:
    return compile_page("report/page", kind, bytes=spell_size, percent=spell_percent, loss=format_loss)


def _content(run: FinishedRun, accuracy: Sequence[AccuracyPoint]) -> dict[str, Any]:
    plan, guarantee = run.plan, run.manifest.guarantee
    traffic = TrafficTable.of(run.record.traffic, plan)
    events = list(guarantee.events)  # includes the events of the release that a run starts from
    paid = [event for event in events if not event.free]
    chosen_by = find_method(plan.method.name)
    sheets = draw_sheets(run)
    first = first_selection({t: each.events for t, each in sorted(run.receipts.items())})
    return {
        "plan": plan,
        "method": chosen_by.summary,
        "describes_appearance": 0 in run.receipts,
        "manifest": run.manifest,
        "assessment": run.record.assessment,
        "guarantee": guarantee,
        "neighbours": RELATIONS[guarantee.relation].format(unit=guarantee.unit),
        "factor": None if guarantee.epsilon_spent is None else format_factor(guarantee.epsilon_spent),
        "loss": PrivacyLoss.of(plan, events).say(guarantee.epsilon_budget, symbol=""),
        "statements": list_statements(plan, events),
        "checks": list_checks(plan),
        "promise": state_promise(plan),
        "in_all": state_cumulative_loss(plan, events),
        "real_images": describe_library(plan.library) if plan.library else "",
        "draws": len(events),
        "releases": sum(any(not event.free for event in each.events) for each in run.receipts.values()),
        "paid": bool(paid),
        "mechanisms": ", ".join(dict.fromkeys(f"{each.mechanism} mechanism" for each in paid)),
        "best": math.ceil(plan.method.candidates / 10),
        "lift": chosen_by.lift(first, scope_of(plan)) if first else uniform_lift((), scope_of(plan)),
        "luck": uniform_lift((), scope_of(plan)),
        "populations": (made := count_rounds(plan, run.receipts) + 1),
        "shown_populations": len(spread_evenly(made, ROWS)),
        "sheets": sheets,
        "brief": Brief.of(plan, events, traffic, run.record.traffic.attempts),
        "version": version("pcevolve"),
        "framed": any(tile.receipt for sheet in sheets for row in sheet.rows for tile in row.tiles),
        "charts": draw_curves(run, traffic, accuracy),
        "spent": sum_spent(run),
        "traffic": traffic,
        "accuracy": accuracy,
        "glance": Glance.of(run, accuracy),
        "host": urlsplit(plan.provider.api).netloc,
        "settings": list_settings(plan),
    }


def list_settings(plan: PublicPlan) -> Described:
    """Describe the settings of a plan, without its prompts."""
    made = plan.modality
    return [
        *made.extra_prompts,
        ("Model", plan.provider.model),
        ("Address", plan.provider.api),
        ("Dialect", plan.provider.dialect),
        *made.describe(),
        *([("Starts from the release with manifest", plan.start.manifest)] if plan.start else []),
        ("Candidates per class", plan.method.candidates),
        ("Prototypes per class", plan.method.prototypes),
        (f"{made.nouns.many.capitalize()} per request, at most", plan.provider.batch),
        *([("Encoder", plan.encoder.name)] if plan.encoder.name else []),
        ("Seed of the public schedule", plan.provider.seed),
        ("Run", plan.run_id),
    ]


def _compare(run: FinishedRun, others: Mapping[str, FinishedRun]) -> dict[str, Any]:
    """Compare datasets, and draw the protection curve of the first run that protects secrets."""
    plan = run.plan
    runs = {"this run": run, **others}
    keeping = {name: each.plan for name, each in runs.items() if each.plan.secrecy and each.plan.secure}
    name, keeper = next(iter(keeping.items()), ("", plan))
    return {
        "beside": show_beside(runs),
        "protection": Protection.of(keeper.secrecy) if keeper.secrecy and name else None,
        "protected": "" if keeper is plan else name,
    }
