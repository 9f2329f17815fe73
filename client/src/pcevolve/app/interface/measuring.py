"""Checks of private data, and measurements of finished runs: ``check``, ``evaluate``, ``classify``, ``compare``.

>>> [each.epsilon for each in compare([RUN]).runs]
[10.0]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias, Unpack

from pydantic_core import to_jsonable_python

from pcevolve.app.interface.asking import ask
from pcevolve.app.interface.options import RunOptions
from pcevolve.app.interface.values import (
    CheckResult,
    ClassificationResult,
    ComparisonResult,
    EvaluationResult,
)
from pcevolve.app.session.access import list_evaluated, list_finished, list_owned, list_private_paths
from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.options import AS_KEYWORDS, spell_as
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.transcript.layout import RunLayout

AnyPath: TypeAlias = str | os.PathLike[str]
_NEEDED = {"domain": "anything", "out": "."}
"""Options that every run needs; they have no effect here."""


def check(
    private: AnyPath,
    *,
    dialect: str = "getimg",
    write_unit_map: AnyPath | None = None,
    quiet: bool = False,
    **options: Unpack[RunOptions],
) -> CheckResult:
    """Inspect private data before a run: ``pcevolve check`` as a function. Nothing is sent or spent.

    Args:
        private: Folder of class folders of images or, with ``dialect="chat"``, texts; or a table of texts.
        dialect: Dialect of the run's API, which determines whether the data are images or texts.
        write_unit_map: A file to write for ``unit_map``, with the folders within class folders as units.
        quiet: Show no progress on stderr.
        options: Options of the run (``shots=10``, ``unit_map="patients.csv"``).

    Returns:
        The findings; true if a run would accept the data as they are.

    Raises:
        UsageError: An option is unknown or out of bounds.
    """
    given = {**_NEEDED, **options, "dialect": dialect}
    with spell_as(AS_KEYWORDS):
        # A missing folder is a finding, not an option's error, so it is not passed with the options.
        settings = RunConfig.of({**given, "private": "digits"})
    written = None if write_unit_map is None else Path(write_unit_map)
    if written is not None and Path(private).is_file():
        raise UsageError("write_unit_map is for images: texts have data.unit_column")
    asked = {
        "folder": os.fspath(private),
        "options": to_jsonable_python({**given, "private": "digits"}, fallback=str),
        "write_unit_map": None if written is None else str(written),
    }
    return ask(
        "check",
        CheckResult,
        asked,
        reads=map(Path, list_owned([os.fspath(private), *list_private_paths(settings)])),
        writes=[] if written is None else [written.absolute().parent],
        quiet=quiet,
    )


def evaluate(
    run: AnyPath,
    *,
    test: AnyPath,
    private: AnyPath | None = None,
    mix: bool = False,
    judges: Sequence[str] = (),
    control: AnyPath | None = None,
    device: str = "auto",
    encoder_weights: str | None = None,
    quiet: bool = False,
) -> EvaluationResult:
    """Train classifiers on a finished run's dataset and test them: ``pcevolve evaluate`` as a function.

    Nothing is sent or spent. The figures are private: they are only returned, and stored beside the ledger.

    Args:
        run: The run's folder.
        test: Held-out images or texts: a folder with one subfolder per class, or a table of texts.
        private: The private data, to measure how much of their information the dataset has, and to find
            copies of them.
        mix: Also train on private data and dataset together.
        judges: ``cnn``, or an encoder as ``NAME`` or ``NAME=WEIGHTS``; for texts ``ngrams`` and ``words``.
            Empty for the default judges.
        control: Folder of a run of method random with the same classes; None for the one beside the run.
        device: Device that the encoders run on: auto, cpu or cuda.
        encoder_weights: The same file as the run's ``encoder_weights``, if it had one.
        quiet: Show no progress on stderr.

    Raises:
        UsageError: The folder has no finished run, or an option does not fit the run.
        DataError: The data cannot be used, or test data are private data; the reason is on stderr.
    """
    root = _require_run(run)
    if mix and private is None:
        raise UsageError("mix trains on the private images: give their folder with private")
    owner = OwnerFolder.of(root).root.parent.parent
    owner.mkdir(mode=0o700, parents=True, exist_ok=True)
    asked = {
        "run": str(root),
        "test": os.fspath(test),
        "private": None if private is None else os.fspath(private),
        "mix": mix,
        "judges": tuple(judges),
        "control": None if control is None else os.fspath(control),
        "device": device,
        "weights": encoder_weights,
    }
    given = [None if each is None else os.fspath(each) for each in (test, private)]
    reads = list_evaluated(root, None if control is None else Path(control), given, judges, encoder_weights)
    return ask("evaluate", EvaluationResult, asked, reads=map(Path, reads), writes=[owner], quiet=quiet)


def classify(
    run: AnyPath, files: AnyPath | Sequence[AnyPath], *, encoder_weights: str | None = None
) -> ClassificationResult:
    """Find the nearest class of images or texts: ``pcevolve classify`` as a function.

    Args:
        run: Folder of a finished run of a method that releases class means.
        files: Image files, or files with one text each. A folder means all files in it.
        encoder_weights: The same file as the run's ``encoder_weights``, if it had one.

    Raises:
        UsageError: The run has no classifier.
        DataError: A file is no image or text; stderr names it.
    """
    paths = [files] if isinstance(files, str | os.PathLike) else files
    root, named = _require_run(run), [os.fspath(each) for each in paths]
    asked = {"run": str(root), "files": named, "encoder_weights": encoder_weights}
    reads = [*list_finished(root), *list_owned([encoder_weights, *named])]
    return ask("classify", ClassificationResult, asked, reads=map(Path, reads))


def compare(
    runs: Sequence[AnyPath], *, html: AnyPath | None = None, sheet: AnyPath | None = None
) -> ComparisonResult:
    """Compare finished runs: ``pcevolve compare`` as a function.

    Args:
        runs: Folders of the runs.
        html: Also write this page: facts, accuracies, and pictures of each run, class by class.
        sheet: Also write this PNG file, with one row of images from the dataset of each run.

    Raises:
        UsageError: A folder has no finished run.
    """
    written = [None if path is None else Path(path).absolute() for path in (html, sheet)]
    roots = [_require_run(each) for each in runs]
    reads = [Path(path) for each in roots for path in list_finished(each)]
    asked = {
        "runs": [*map(str, roots)],
        **{
            name: None if path is None else str(path)
            for name, path in zip(("html", "sheet"), written, strict=True)
        },
    }
    parents = [path.parent for path in written if path is not None]
    return ask("compare", ComparisonResult, asked, reads=reads, writes=parents)


def _require_run(run: AnyPath) -> Path:
    root = Path(run)
    RunLayout(root).require_transcript()
    return root
