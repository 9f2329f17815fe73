"""Commands on a run: plan, report, export, extend, classify, compare and evaluate."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from pcevolve.app.cli.options import Json, RunPath, leave_files, require_run
from pcevolve.app.cli.parameters import Flag, PositionalArgument
from pcevolve.errors import UsageError, printable
from pcevolve.public.screen import NARROW, print_table

if TYPE_CHECKING:
    from rich.table import Table

    from pcevolve.public.modality import Nouns

EncoderWeights = Annotated[
    str | None,
    Flag(
        ("--encoder-weights",),
        help="File of the encoder's weights, if the run was given one with --set encoder.weights=FILE.",
    ),
]


def report(folder: RunPath) -> None:
    """Write the report of a finished run again, as this version of pcevolve would write it."""
    require_run(folder)
    leave_files([], [folder])
    from pcevolve.public.pages.report.page import write_report
    from pcevolve.public.run.folder import RunFolder
    from pcevolve.public.transcript.reader import RunReader

    with RunFolder(folder).hold():
        click.echo(write_report(RunReader.strict(folder)))


def plan(folder: RunPath) -> None:
    """Show all public facts about a run: what it sends, its privacy guarantee, its prompts and its settings."""
    require_run(folder)
    leave_files([folder])
    from pcevolve.wire.console import describe_begun

    rows = ((title, printable(text)) for title, text in describe_begun(folder))
    print_table(f"Plan of {folder}", ("what", "value"), rows, NARROW)


def export(
    folder: RunPath,
    form: Annotated[
        list[str],
        Flag(
            ("--format",), help="parquet or webdataset for images; jsonl or csv for texts. May be repeated."
        ),
    ],
) -> None:
    """Also write the dataset of a finished run as Parquet, WebDataset, JSON lines or CSV."""
    require_run(folder)
    leave_files([], [folder])
    from pcevolve.public.publish.exports import export_run
    from pcevolve.public.run.folder import RunFolder

    with RunFolder(folder).hold():
        for path in export_run(folder, form):
            click.echo(path)


def classify(
    folder: RunPath,
    images: Annotated[
        list[Path],
        PositionalArgument(
            metavar="FILES",
            help="Image files, or files with one text each. A folder stands for all files in it.",
        ),
    ],
    weights: EncoderWeights = None,
) -> None:
    """Classify images or texts with the class means that a run released.

    Print one line per file: its path, its class, and a score from 0 (halfway between two classes) to 1. The score is
    not a probability.
    """
    require_run(folder)
    from pcevolve.app.session.access import list_finished, list_owned

    leave_files([*list_finished(folder), *list_owned([weights, *images])])
    from pcevolve.auditing.rerun import find_encoder  # torch takes seconds to load
    from pcevolve.keeper.finished.classification import NearestMean, classify_files
    from pcevolve.keeper.finished.held_out import find_private
    from pcevolve.public.run.folder import RunFolder

    nearest, digests = NearestMean.of(folder, partial(find_encoder, weights=weights)), []
    for each in classify_files(nearest, images):
        click.echo(f"{each.path}\t{each.label}\t{each.score:.2f}")
        digests.append(each.digest)
    if seen := find_private(RunFolder(folder), nearest.plan, digests):
        click.echo(
            f"{len(seen)} of {len(digests)} files are private data of this run. The class means were "
            "computed from them, so their classification says nothing about other files",
            err=True,
        )


def compare(
    folders: Annotated[list[Path], PositionalArgument(metavar="RUN", help="Folders of finished runs.")],
    sheet: Annotated[
        Path | None,
        Flag(help="Also write this PNG file, with one row of images from the dataset of each run."),
    ] = None,
    html: Annotated[
        Path | None,
        Flag(
            help="Also write this HTML page, with the facts, the accuracies as charts, and images of "
            "each class from each run."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the cost of finished runs, the usefulness of their datasets, and the accuracy of classifiers.

    Accuracies come from pcevolve evaluate or, if there are none, from pcevolve run --test. They are kept beside the
    ledger. They are computed from your images without noise: do not share them.
    """
    from pcevolve.app.session.access import list_finished

    reads = [path for each in folders for path in list_finished(each)]
    leave_files(reads, [path.absolute().parent for path in (sheet, html) if path is not None])
    from pcevolve.keeper.finished.comparison import (
        OTHER_TESTS,
        list_facts,
        read_runs,
        write_page,
        write_sheet,
    )

    found = read_runs(folders)
    if sheet is not None:
        write_sheet(folders, sheet)
        click.echo(f"{sheet}: some images of each dataset", err=True)
    if html is not None:
        write_page(found, folders, html)
        click.echo(f"{html}: page that compares the runs", err=True)
    if as_json:
        click.echo(json.dumps([each.to_json() for each in found]))
        return
    rows = []
    for each in found:
        *facts, useful = list_facts(each).items()
        scored = [f"{judge} {_accuracy(mean)}" for judge, mean in each.judges.items()]
        facts_text = "\n".join(f"{title} {value}" for title, value in facts)
        rows.append((each.name, facts_text, useful[1], "\n".join(scored) or "–"))
    print_table("Runs", ("run", "facts", "useful?", "accuracy, %"), rows, NARROW, lines=True)
    if any(each.judges for each in found):
        if len({each.test for each in found if each.judges}) > 1:
            click.echo(OTHER_TESTS, err=True)
        click.echo(
            "Accuracies are in % (standard error over seeds of the head). Do not share them. (v): the "
            "judge uses the encoder that also selected the images, so the figure is too high",
            err=True,
        )
    else:
        click.echo("pcevolve evaluate RUN --test DIR measures how useful a dataset is", err=True)


def _accuracy(found: dict[str, Any]) -> str:
    """Format an accuracy in %; without a standard error if it does not depend on seeds."""
    error = f" ± {100 * found['sem']:.1f}" if found["sem"] else ""
    return f"{100 * found['mean']:.1f}{error}{' (v)' if found.get('voted') else ''}"


def evaluate(
    folder: RunPath,
    test: Annotated[
        str,
        Flag(
            help="Held-out images or texts: a folder with one subfolder per class, a table of texts, or "
            "digits:... or terms:..., as for pcevolve run."
        ),
    ],
    private: Annotated[
        str | None,
        Flag(
            help="Folder of the run's private images. The dataset is then compared with the private "
            "images, and searched for copies of them."
        ),
    ] = None,
    mix: Annotated[
        bool, Flag(("--mix",), help="Also train classifiers on the private images and the dataset together.")
    ] = False,
    judge: Annotated[
        list[str] | None,
        Flag(
            help="Classifier to train: cnn (from scratch), or an encoder with a new linear head (NAME or "
            "NAME=WEIGHTS). May be repeated. Default: cnn and bundled, and also resnet18 and clip "
            "if they were fetched; for texts, ngrams and words.",
        ),
    ] = None,
    control: Annotated[
        Path | None,
        Flag(
            help="Run of method random with the same classes, for comparison. Default: RUN-random, if "
            "it exists."
        ),
    ] = None,
    device: Annotated[str, Flag(help="Device that the encoders run on: auto, cpu or cuda.")] = "auto",
    weights: EncoderWeights = None,
    as_json: Annotated[bool, Flag(("--json",), help="Print JSON instead of tables.")] = False,
) -> None:
    """Train classifiers on a finished run's dataset and test them on your own data. Nothing is sent or spent.

    The figures are computed from your images and have no privacy guarantee. They are shown here and kept beside the
    ledger, and nowhere else.
    """
    require_run(folder)
    if mix and private is None:
        raise UsageError("--mix also trains on the private images: give their folder with --private")
    from pcevolve.app.session.access import find_nearest, list_evaluated
    from pcevolve.public.run.owner import OwnerFolder

    reads = list_evaluated(folder, control, (test, private), judge or (), weights)
    leave_files(reads, [find_nearest(OwnerFolder.of(folder).root)])  # only the figures are written
    from pcevolve.public.encoders import require_torch

    require_torch("evaluate, which trains networks,")
    from pcevolve.auditing.rerun import find_encoder
    from pcevolve.keeper.finished.evaluating import EvaluationRequest, evaluate  # torch takes seconds to load
    from pcevolve.public.run.progress import error_console, show_work, tell_training_time

    question = EvaluationRequest(test, private, mix, tuple(judge or ()), control, device, weights)
    console = error_console()
    with show_work(console, "training classifiers") as show_progress:
        tell = partial(tell_training_time, console)
        found = evaluate(folder, question, show_progress, find_encoder, tell)
    if as_json:
        click.echo(json.dumps(found))
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console

    from pcevolve.public.modality import find_tested

    console = Console()
    console.print(_accuracies(found))
    if measured := found.get("measured"):
        advice = f"\n{measured['advice']}" if measured["advice"] else ""
        console.print(
            f"{measured['word'].upper()}, measured: {measured['sentence']}{advice}", highlight=False
        )
        console.print(f"page with images: {found['use_page']}", highlight=False, soft_wrap=True)
    made = find_tested(found)
    tests, many = found[f"test_{made.nouns.many}"], made.nouns.many
    console.print(
        f"guessing gives {found['chance']:.1%}; control run: {found['control']}; {tests} test {many}"
    )
    if "not_checked" in found:
        console.print(found["not_checked"])
    if classifier := found.get("classifier"):
        console.print(_compare_classifier(classifier, found, made.nouns))
    if "longest_copied_words" in found:
        console.print(
            "longest sequence of words that a dataset text shares with a private text: "
            f"{found['longest_copied_words']} words"
        )
    if all(row["voted"] for row in found["judges"]):
        other = made.independent_classifier
        console.print(
            "every judge uses the encoder that also selected the dataset, so the accuracies "
            f"are too high: add --judge {other}"
        )
    for row in found["judges"]:
        console.print(_by_class(row, found["classes"]))
        for line in _describe_distances(row):
            console.print(line)


def _compare_classifier(classifier: dict[str, Any], found: dict[str, Any], nouns: Nouns) -> str:
    """State the accuracy of the released means as a classifier, and whether it exceeds the dataset's and chance."""
    accuracy = classifier["dataset"]["accuracy"]["mean"]
    text = f"accuracy of the released class means as a classifier, without training: {accuracy:.1%}"
    trained = [each["dataset"]["accuracy"]["mean"] for each in found["judges"]]
    chance, tests = found["chance"], found[f"test_{nouns.many}"]
    # Two standard errors above chance: guessing alone seldom reaches this accuracy.
    by_luck = chance + 2 * math.sqrt(chance * (1 - chance) / tests)
    if trained and accuracy > max(*trained, by_luck):
        text += "\nThat is more accurate than a classifier trained on the dataset: use pcevolve classify RUN FILES"
    return text


def _accuracies(found: dict[str, Any]) -> Table:
    """Return a table with one row per training set, so that any number of classes fits a terminal."""
    from rich.table import Table

    table = Table(
        "judge", "trained on", "accuracy", title="Accuracy in % (standard error over seeds of the head)"
    )
    columns = [
        name
        for name in ("dataset", "words", "random", "shuffled", "private", "both")
        if name in found["judges"][0]
    ]
    for row in found["judges"]:
        name = f"{row['judge']} (voted)" if row["voted"] else row["judge"]
        for column in columns:
            own = row[column]["accuracy"]
            table.add_row(name, column, _accuracy(own))
            name = ""
        table.add_section()
    return table


def _by_class(row: dict[str, Any], classes: list[str]) -> str:
    """Describe the accuracy on each class of a judge trained on the dataset, in one line."""
    own = row["dataset"]
    text = ", ".join(
        f"{label} {100 * own['per_class'][label]:.0f}" for label in classes if label in own["per_class"]
    )
    return f"{row['judge']}: macro F1 {100 * own['macro_f1']:.1f}; accuracy per class in %: {text}"


def _describe_distances(row: dict[str, Any]) -> list[str]:
    """Describe a judge's distances and the dataset's memorisation, in lines."""
    lines = []
    if distances := row.get("distances"):
        few = (
            " (there are few images, so compare these figures only with those of sets of the same size)"
            if distances["few"]
            else ""
        )
        lines.append(f"{row['judge']}: {_numbers(distances)}{few}")
    if control := row.get("control_distances"):
        lines.append(f"{row['judge']}, the control: {_numbers(control)}")
    if memory := row.get("memorisation"):
        copies = ", ".join(memory["copies"]) or "none"
        lines.append(
            f"{row['judge']}: {memory['closer_to_private']:.0%} of the dataset is nearer to private than "
            "to test data (50 % is expected without memorisation, and the figure varies widely with few "
            f"images); copies of private data: {copies}"
        )
    return lines


def _numbers(distances: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in distances.items() if isinstance(value, float))
