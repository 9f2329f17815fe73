"""The result of a finished run, in lines for its owner.

Nothing here loads NumPy, because the command that prints the result does not need it otherwise.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pcevolve.public.figures import in_full, spell_count, spell_size
from pcevolve.public.modality import MODALITIES, read_kind
from pcevolve.public.parts import Secrecy
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.publish.usefulness import Assessment
from pcevolve.public.screen import Line
from pcevolve.public.transcript.layout import CLASSIFIER, RELEASE


def summarise(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the result, what was sent and spent, the dataset's usefulness, and the next steps."""
    kind = read_kind(summary)
    for mark in summary["marks"]:
        yield "WARNING", mark
    made = f"{MODALITIES[kind].nouns.count(summary['images_released'])}, {spell_count(summary['classes'], 'class')}"
    yield "dataset", f"{summary['dataset']} ({made})"
    yield from describe_traffic(summary)
    if "listed_secrets" in summary:
        yield "secrets", Secrecy.model_validate(summary["listed_secrets"]).words
    yield from describe_accuracies(summary)
    assessed = _read_assessment(summary)
    if (measured := summary.get("measured")) is not None:
        yield "verdict", f"{measured['word'].upper()}, measured: {measured['sentence']}"
        if measured["advice"]:
            yield "", measured["advice"]
    elif assessed is not None:
        judge = summary["usefulness"]["by"]
        yield (
            "verdict",
            f"{assessed.estimate(kind).upper()} (by {judge}, the encoder that also selected): "
            f"{assessed.sentence(kind)}",
        )
        yield "", f"{assessed.advice(kind)}"
    else:
        yield (
            "verdict",
            f"not estimated, because method {summary['method']} releases no figures about how useful the "
            "dataset is",
        )
    yield from _next(summary)


def describe_traffic(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield how much was sent, and the privacy that it cost."""
    bill = f"; {summary['bill']}" if "at no charge" not in summary.get("bill", "at no charge") else ""
    back = f"{spell_size(summary['bytes_received'])} came back"
    yield (
        "sent",
        f"{spell_count(summary['requests'], 'request')}, {spell_size(summary['bytes_sent'])}; {back}{bill}",
    )
    yield "privacy", _say_loss(summary)


def describe_accuracies(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield each set's accuracy by a judge that did not vote, or if there is none, by one that did."""
    rows = [row for row in summary.get("accuracy", ()) if not row["voted"]] or [*summary.get("accuracy", ())]
    for row in rows[:1]:
        parts = [f"{words} {100 * row[name]['mean']:.0f} %" for name, words in SETS.items() if name in row]
        yield "accuracy", ", ".join(parts)
        voted = (
            "; the judge uses the encoder that also selected the dataset, so the figures are too high"
            if row["voted"]
            else ""
        )
        yield (
            "",
            f"(accuracy of {row['judge']} on held-out data; guessing gives {100 / summary['classes']:.0f} "
            f"%{voted})",
        )


SETS = {
    "initial": "words alone",
    "random": "random selection",
    "final": "this dataset",
    "shots": "private data",
}
"""Names of the sets with accuracies, in the order of the output."""


def _say_loss(summary: Mapping[str, Any]) -> str:
    if summary["epsilon_spent"] is None:
        return str(summary.get("promise", "no guarantee (see the warning)"))
    loss, terms = PrivacyLoss.read(summary), f"(delta {in_full(summary['delta'])}, {summary['relation']})"
    if "starts_from" in summary:
        return f"nothing was spent; the release that the run varied has {loss.say()} {terms}"
    return f"{loss.say(summary['epsilon_budget'])} was spent {terms}"


def _next(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield commands that can be typed next."""
    run = Path(summary["dataset"]).parent
    name = shlex.quote(str(run))
    yield "next", f"open {shlex.quote(str(summary['report']))}"
    if "use_page" in summary:
        yield (
            "",
            f"open {shlex.quote(str(summary['use_page']))}   (how useful the dataset is; do not share this page)",
        )
    yield "", f"pcevolve audit {name}   (checks what was sent, and why)"
    if not summary.get("accuracy"):
        yield "", f"pcevolve evaluate {name} --test FOLDER   (accuracy on your own data)"
    if (run / RELEASE / CLASSIFIER).is_file():
        yield "", f"pcevolve classify {name} FILES   (classifies with the released class means)"


def _read_assessment(summary: Mapping[str, Any]) -> Assessment | None:
    found = summary.get("usefulness")
    fields = Assessment.model_fields
    return None if found is None else Assessment.model_validate({name: found[name] for name in fields})


def detail_result(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the figures of a finished run that ``summarise`` leaves out, with every judge's accuracies."""
    kind = read_kind(summary)
    yield "rounds", f"{summary['iterations']}, by method {summary['method']}"
    if (assessed := _read_assessment(summary)) is not None:
        judge = summary["usefulness"]["by"]
        yield (
            "useful?",
            f"{assessed.estimate(kind).upper()} (by {judge}, the encoder that also selected): {assessed.reason(kind)}",
        )
    yield "bytes sent", f"{summary['bytes_sent']:,}; received {summary['bytes_received']:,}"
    for row in summary.get("accuracy", ()):
        yield f"accuracy, {row['judge']}{' (voted)' if row['voted'] else ''}", _say_accuracy(row)
    if "wall_seconds" in summary:
        yield "time", f"{summary['wall_seconds']} s (this command)"


SCORED = ("initial", "final", "random")


def _say_accuracy(row: Mapping[str, Any]) -> str:
    """Describe one judge's accuracy for each set: the prompts' images, the dataset, and in a demo the control's."""
    sets = [name for name in SCORED if name in row]
    text = ", ".join(f"{name} {row[name]['mean']:.1%} ± {row[name]['sem']:.1%}" for name in sets)
    flattered = (
        "; the judge uses the encoder that also selected the dataset, so the figures are too high"
        if row["voted"]
        else ""
    )
    return f"{text} (standard error over {len(row['final']['seeds'])} seeds of the head{flattered})"
