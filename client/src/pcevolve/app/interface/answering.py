"""The process that works with files for a program: it receives one order and sends one answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter
from rich.console import Console

from pcevolve.app.interface import values
from pcevolve.app.interface.asking import refuse
from pcevolve.errors import REPORTED_ELSEWHERE, ClientError
from pcevolve.keeper.keeping import tell_owner
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.options import AS_KEYWORDS, spell_as
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe
from pcevolve.public.run.progress import error_console, show_work, tell_training_time


def answer(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe) -> None:
    """Do the work of the process that reads and writes files on behalf of a Python program."""
    tempfile.tempdir = orders["room"]
    up.send(*perform(orders))


def perform(order: Mapping[str, Any]) -> tuple[str, str]:
    """Carry out an order; return the name and the JSON text of the answer."""
    work = WORK[order["task"]]
    console = Console(quiet=True) if order["quiet"] else error_console()
    try:
        with spell_as(AS_KEYWORDS):
            found = work(console, **order["given"])
    except ClientError as error:
        if order["task"] in PUBLIC:
            return refuse(type(error).__name__, [str(error)], is_reported=False)
        # Reasons of other tasks may be about private data, so they go to the owner's screen alone.
        tell_owner(error)
        return refuse(type(error).__name__, [REPORTED_ELSEWHERE], is_reported=True)
    return "done", TypeAdapter(type(found)).dump_json(found).decode()


def _check(
    console: Console, folder: str, options: Mapping[str, Any], write_unit_map: str | None
) -> values.CheckResult:
    from pcevolve.keeper.check import check_data

    mapped = None if write_unit_map is None else Path(write_unit_map)
    with show_work(console, "reading") as show_progress:
        found = check_data(Path(folder), RunConfig.of(options), show_progress, mapped)
    return values.CheckResult(
        found.labels, found.files, found.units, found.faults, found.warnings, found.rows
    )


def _evaluate(console: Console, run: str, control: str | None, **question: Any) -> values.EvaluationResult:  # noqa: ANN401
    from pcevolve.auditing.rerun import find_encoder
    from pcevolve.keeper.finished.evaluating import EvaluationRequest, evaluate
    from pcevolve.public.encoders import require_torch
    from pcevolve.public.modality import find_tested

    require_torch("evaluate, which trains networks,")
    asked = EvaluationRequest(**question, control=None if control is None else Path(control))
    with show_work(console, "training classifiers") as show_progress:
        tell = partial(tell_training_time, console)
        found: Mapping[str, Any] = evaluate(Path(run), asked, show_progress, find_encoder, tell)
    classifier = found.get("classifier")
    result = {
        "labels": found["classes"],
        "items": found[f"test_{find_tested(found).nouns.many}"],
        "classifier": None if classifier is None else classifier["dataset"],
        "copied_words": found.get("longest_copied_words"),
        "page": found.get("use_page"),
        **{
            name: found[name]
            for name in ("chance", "control", "judges", "measured", "not_checked")
            if name in found
        },
    }
    return TypeAdapter(values.EvaluationResult).validate_python(result)


def _classify(
    _console: Console, run: str, files: Sequence[str], encoder_weights: str | None
) -> values.ClassificationResult:
    from pcevolve.auditing.rerun import find_encoder
    from pcevolve.keeper.finished.classification import NearestMean, classify_files
    from pcevolve.keeper.finished.held_out import find_private
    from pcevolve.public.run.folder import RunFolder

    nearest = NearestMean.of(Path(run), partial(find_encoder, weights=encoder_weights))
    found = [*classify_files(nearest, map(Path, files))]
    private = find_private(RunFolder(Path(run)), nearest.plan, [each.digest for each in found])
    return values.ClassificationResult(
        tuple(values.ClassifiedFile(each.path, each.label, each.score) for each in found), len(private or ())
    )


def _compare(
    _console: Console, runs: Sequence[str], html: str | None, sheet: str | None
) -> values.ComparisonResult:
    from pcevolve.keeper.finished.comparison import ComparedRun, read_runs, write_page, write_sheet

    roots = [*map(Path, runs)]
    found = read_runs(roots)
    if sheet is not None:
        write_sheet(roots, Path(sheet))
    if html is not None:
        write_page(found, roots, Path(html))

    def describe(each: ComparedRun, root: Path) -> values.RunFigures:
        summary = each.summary
        use = summary.get("usefulness")
        figures = {
            **{name: summary[name] for name in ("method", "delta", "relation", "unit", "requests", "marks")},
            "name": each.name,
            "folder": root,
            "labels": each.labels,
            "epsilon": summary["epsilon_spent"],
            "images": summary["images_released"],
            "estimated": "not estimated" if use is None else f"estimated {use['word']}",
            "judges": [
                {"judge": name, "voted": row["voted"], "accuracy": row} for name, row in each.judges.items()
            ],
            "measured": each.measured or None,
            "test": each.test,
        }
        return TypeAdapter(values.RunFigures).validate_python(figures)

    return values.ComparisonResult(tuple(map(describe, found, roots)))


def _verify(
    _console: Console,
    run: str,
    capture: str | None,
    sources: Sequence[str],
    encoder_weights: str | None,
    html: bool,
) -> Any:  # noqa: ANN401 - whose module needs what asks
    from contextlib import nullcontext

    from pcevolve.app.interface.verifying import AuditResult
    from pcevolve.auditing import Audit, find_encoder
    from pcevolve.public.run.folder import RunFolder

    root, load = Path(run), partial(find_encoder, weights=encoder_weights)
    with RunFolder(root).hold(as_found=True) if html else nullcontext():
        audited = Audit.of(root, load, None if capture is None else Path(capture), [*map(Path, sources)])
        if html:
            audited.write_pages()
    return AuditResult.of(audited)


def _pack(_console: Console, run: str, out: str, encoder_weights: str | None) -> Path:
    from pcevolve.auditing import Audit, find_encoder, pack

    return pack(Audit.of(Path(run), partial(find_encoder, weights=encoder_weights)), Path(out))


def _export(_console: Console, run: str, form: str) -> Path:
    from pcevolve.public.publish.exports import export_run
    from pcevolve.public.run.folder import RunFolder

    with RunFolder(Path(run)).hold():
        return export_run(Path(run), [form])[0]


WORK: Final[Mapping[str, Callable[..., Any]]] = {
    "check": _check,
    "classify": _classify,
    "compare": _compare,
    "evaluate": _evaluate,
    "export": _export,
    "pack": _pack,
    "verify": _verify,
}
PUBLIC: Final = frozenset({"export", "pack", "verify"})
"""Tasks that use a run's folder alone, so that their errors reveal nothing private."""
