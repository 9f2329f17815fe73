"""Finished runs side by side: their figures, datasets, and curves over runs that differ in one setting.

Judges' figures are private. A page with such figures states that it is for the owner alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pcevolve.errors import UsageError
from pcevolve.keeper.evaluation.labelled import Labelled
from pcevolve.public.durable import write_durably
from pcevolve.public.figures import in_full
from pcevolve.public.media import find_medium
from pcevolve.public.media.images.sheet import draw_sheet
from pcevolve.public.modality import Kind
from pcevolve.public.pages.rendering import (
    PagePicture,
    compile_page,
    inline_parts,
    make_picture,
    read_own,
    read_style,
)
from pcevolve.public.pages.report.charts import Chart, FigureOverSeeds, Series
from pcevolve.public.parts import Secrecy
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.dataset import summarise
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.transcript.reader import RunReader

OTHER_TESTS = (
    "WARNING: these runs were evaluated on different test sets, so their accuracies cannot be compared"
)
AXES = {"ε": "Accuracy over ε", "N": "Accuracy over N, images per class"}
Settings: TypeAlias = dict[str, Any]
"""A run's settings, by the names shown on the page."""
Line: TypeAlias = Mapping[float, list[float]]
"""Accuracies of runs that differ in one setting, by the value of that setting."""


@dataclass(frozen=True, repr=False)
class Point:
    """One judge's result for one run; private."""

    settings: Settings
    accuracy: float


@dataclass(frozen=True)
class ComparedRunColumn:
    """A run on the page.

    Attributes:
        figures: Judges' figures, by judge; private.
        use: The verdict of judges that did not vote; private. Empty without such judges.
        initial: Pictures of the first images of each class, by label.
        dataset: Pictures of the dataset's images of each class, by label.
    """

    name: str
    facts: dict[str, str]
    figures: dict[str, dict[str, Any]]
    use: dict[str, Any]
    chance: float
    initial: dict[str, tuple[PagePicture, ...]]
    dataset: dict[str, tuple[PagePicture, ...]]

    @property
    def yardsticks(self) -> list[tuple[str, Sequence[float]]]:
        # Imported here: the page's module loads PyTorch, which a comparison without the page does not need.
        from pcevolve.keeper.finished.use_page import list_accuracies

        return list_accuracies(self.use, self.chance)


def choose_settings(plan: PublicPlan, epsilon_spent: float | None) -> Settings:
    """Return the settings by which runs are grouped into lines."""
    return {
        "method": plan.method.name,
        "ε": (epsilon_spent if plan.data.subsample else float(plan.budget.epsilon))
        if epsilon_spent
        else None,
        "N": plan.method.candidates,
        "K": plan.data.shots,
        "domain": plan.data.domain,
        "classes": ", ".join(plan.labels),
        "model": plan.provider.model,
        "API": f"{plan.provider.dialect}, {urlsplit(plan.provider.api).hostname}",
        "encoder": plan.encoder.name,
        "T": plan.method.iterations,
        "strengths": " ".join(f"{each:g}" for each in plan.method.strengths),
        "varied by": plan.method.vary_by,
        "prompt": plan.provider.prompt_template,
        "δ": in_full(plan.privacy.delta),
        "unit": f"{plan.unit}, {plan.privacy.relation}",
    }


def draw_curves(points: Sequence[Point]) -> list[Chart]:
    """Draw a chart for each axis with at least one line.

    Runs of equal settings form one point, their mean. A point of three runs or more has an interval.
    """
    found = ((axis, title, _lines(points, axis)) for axis, title in AXES.items())
    return [_chart(axis, title, lines) for axis, title, lines in found if lines]


def _lines(points: Sequence[Point], axis: str) -> dict[str, Line]:
    """Return the lines with at least two points, by name."""
    lines: dict[tuple[tuple[str, Any], ...], dict[float, list[float]]] = {}
    for point in points:
        others = tuple((name, value) for name, value in point.settings.items() if name != axis)
        if (at := point.settings[axis]) is not None:
            lines.setdefault(others, {}).setdefault(at, []).append(point.accuracy)
    long = {others: line for others, line in lines.items() if len(line) > 1}
    return dict(zip(_names([dict(others) for others in long]), long.values(), strict=True))


def _names(lines: Sequence[Settings]) -> Iterator[str]:
    """Yield a name for each line: its method, and the settings that differ between lines."""
    for own in lines:
        distinctive = (
            name for name in own if name != "method" and any(own[name] != each[name] for each in lines)
        )
        parts = (f"no {name}" if own[name] is None else f"{name} = {own[name]}" for name in distinctive)
        yield ", ".join((own["method"], *parts))


def _chart(axis: str, title: str, lines: Mapping[str, Line]) -> Chart:
    columns = sorted({at for line in lines.values() for at in line})
    series = [_series(name, line, columns) for name, line in lines.items()]
    spelled = tuple(f"{at:g}" for at in columns)
    return Chart(title, "; ".join(lines), series, 1.0, "{:.1%}".format, axis=axis, columns=spelled)


def _series(name: str, line: Line, columns: Sequence[float]) -> Series:
    values = {columns.index(at): FigureOverSeeds.of(line[at]) for at in sorted(line)}
    means = tuple((place, value.mean) for place, value in values.items())
    return Series(name, means, tuple(value.half or 0.0 for value in values.values()))


Each = TypeVar("Each")
SHOWN = 6
"""Number of images of each class in a picture."""
PICTURES = 10
"""Number of images of each class in a row of the page."""
BAR = 280.0
"""Width of the bar for an accuracy of 1, in pixels."""


@dataclass(frozen=True)
class ComparedRun:
    """One run.

    Attributes:
        judges: Figures of ``pcevolve evaluate`` about the current dataset, else of ``run --test``; private.
            Empty without figures.
        test: Digest of the judges' held-out data; private. Figures on different data are not comparable.
        measured: Verdict, sentence and accuracies by judges that did not vote; private. Empty without such
            judges.
    """

    name: str
    summary: dict[str, Any]
    labels: tuple[str, ...]
    judges: dict[str, dict[str, Any]]
    settings: Settings
    test: str = ""
    measured: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return values for programs; private if there are judges."""
        return {
            "run": self.name,
            "labels": list(self.labels),
            **self.summary,
            "judges": self.judges,
            "measured": self.measured,
        }


def read_runs(roots: Sequence[Path]) -> list[ComparedRun]:
    """Read several runs (``UsageError`` for a folder without a finished run)."""
    return [_one(root, name) for root, name in zip(roots, _name_runs(roots), strict=True)]


def write_sheet(roots: Sequence[Path], path: Path) -> None:
    """Draw some images of each run's dataset, one row per run."""
    rows = []
    for root, name in zip(roots, _name_runs(roots), strict=True):
        plan = RunReader.strict(root).require_plan()
        if why := plan.modality.refuses_sheets:
            raise UsageError(f"--sheet shows images, but {name} {why}")
        rows.append((name, Labelled.released(root, plan.labels).first(SHOWN)))
    write_durably(path, draw_sheet(rows))


def write_page(found: Sequence[ComparedRun], roots: Sequence[Path], path: Path) -> None:
    """Write the runs side by side for people; an existing page is replaced."""
    columns = [_column(each, root) for each, root in zip(found, roots, strict=True)]
    tests = {each.test for each in found if each.judges}
    judges = list(dict.fromkeys(judge for each in found for judge in each.judges))
    content = {
        "style": inline_parts(read_style(), read_own("report/chart.css"), read_own("comparison.css")),
        "columns": columns,
        "facts": list(dict.fromkeys(title for each in columns for title in each.facts)),
        "judges": judges,
        "caveat": OTHER_TESTS if len(tests) > 1 else "",
        "curves": {judge: draw_curves(_points(found, judge)) for judge in judges},
        "labels": list(dict.fromkeys(label for each in columns for label in each.dataset)),
        "bar": BAR,
    }
    write_durably(path, compile_page("comparison").render(content).encode(), 0o600 if judges else 0o644)


def list_facts(run: ComparedRun) -> dict[str, str]:
    """Return the public facts of a run, by title."""
    summary = run.summary
    spent = summary["epsilon_spent"]
    seeded = any(mark.startswith("INSECURE:") for mark in summary.get("marks", ()))
    epsilon = (
        f"no guarantee{', INSECURE' if seeded else ''}"
        if spent is None
        else f"{PrivacyLoss.read(summary).say(symbol='')} (δ {in_full(summary['delta'])}, {summary['relation']})"
    )
    if "listed_secrets" in summary:
        epsilon += f"; listed secrets {Secrecy.model_validate(summary['listed_secrets']).words}"
    return {
        "method": summary["method"],
        "made by": f"{run.settings['model']} ({run.settings['API']})",
        "ε": epsilon,
        "images": str(summary["images_released"]),
        "requests": str(summary["requests"]),
        "useful?": _say_measured(run.measured) or _estimate(summary),
    }


def _points(found: Sequence[ComparedRun], judge: str) -> list[Point]:
    asked = (each for each in found if judge in each.judges)
    # Accuracies on different test sets do not form a line.
    return [Point({**each.settings, "test set": each.test[:8]}, each.judges[judge]["mean"]) for each in asked]


def _column(each: ComparedRun, root: Path) -> ComparedRunColumn:
    run = RunReader.strict(root)
    plan = run.require_plan()
    kind = plan.modality.kind
    first = {label: [call for call in plan.round(0) if call.label == label] for label in plan.labels}
    initial = {
        label: _some([digest for call in calls for digest in run.outputs.get(call.slot, ())])
        for label, calls in first.items()
    }
    released = {
        label: _some(sorted((RunFolder(root).release / label).glob(f"*{find_medium(kind).suffix}")))
        for label in plan.labels
    }
    return ComparedRunColumn(
        each.name,
        list_facts(each),
        each.judges,
        each.measured,
        1 / len(plan.labels),
        {label: _picture_all(kind, map(run.bodies.file, digests)) for label, digests in initial.items()},
        {label: _picture_all(kind, map(Path.read_bytes, paths)) for label, paths in released.items()},
    )


def _picture_all(kind: Kind, stored: Iterable[bytes]) -> tuple[PagePicture, ...]:
    return tuple(make_picture(kind, each) for each in stored)


def _some(all_of_them: Sequence[Each]) -> list[Each]:
    """Return as many items as a row of the page shows, at equal steps through all of them."""
    step = max(1, len(all_of_them) // PICTURES)
    return list(all_of_them[::step][:PICTURES])


def _name_runs(roots: Sequence[Path]) -> list[str]:
    """Name runs by the ends of their paths, with as many parts as needed to distinguish them."""
    parts = [root.absolute().parts for root in roots]
    least = next(n for n in count(1) if len({each[-n:] for each in parts}) == len({*parts}))
    return ["/".join(each[-least:]) for each in parts]


def _one(root: Path, name: str) -> ComparedRun:
    folder = RunFolder(root)
    folder.require_transcript()
    run = RunReader.strict(root)
    plan = run.require_finished()
    summary = summarise(run, plan, len(run.manifest().files))
    stored, judges = _read_judges(OwnerFolder.of(root), folder.digest_manifest())
    settings = choose_settings(plan, summary["epsilon_spent"])
    return ComparedRun(
        name, summary, plan.labels, judges, settings, stored.get("test", ""), stored.get("measured") or {}
    )


def _say_measured(measured: Mapping[str, Any]) -> str:
    if measured.get("word", "unknown") == "unknown":
        return ""
    text = f"{measured['word']}, measured"
    if measured["share"] is None:
        return text
    mean, low, high = (round(100 * each) for each in measured["share"])
    return f"{text}: {mean} % ({low} to {high}) of the distance from chance to the private data's accuracy"


def _estimate(summary: Mapping[str, Any]) -> str:
    found = summary.get("usefulness")
    return f"estimated {found['word']} by {found['by']}, the encoder that also selected" if found else "–"


def _read_judges(owner: OwnerFolder, manifest: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Read the figures of ``evaluate`` for the current dataset, else of ``run --test``.

    Returns:
        The figures as stored, and the figures by judge.
    """
    stored = json.loads(owner.judgement.read_bytes()) if owner.judgement.is_file() else {}
    if stored.get("manifest") == manifest:
        rows = [*stored["judges"], *([stored["classifier"]] if "classifier" in stored else [])]
        found = [(row["judge"], row["voted"], row["dataset"]["accuracy"]) for row in rows]
    elif not owner.evaluation.is_file():
        return {}, {}
    else:
        stored = json.loads(owner.evaluation.read_bytes())
        # A separate name, because this judge trains fewer steps than in ``evaluate``.
        found = [(f"{row['judge']} (run --test)", row["voted"], row["final"]) for row in stored["accuracy"]]
    in_order = sorted(found, key=lambda each: each[1])
    return stored, {name: {"voted": voted, **accuracy} for name, voted, accuracy in in_order}
