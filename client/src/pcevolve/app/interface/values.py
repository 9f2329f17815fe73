"""Results of the library's functions: figures about private data, for the owner alone.

``repr`` and notebooks show the figures, because the caller is the owner. This module imports no code that
measures.

>>> str(AccuracyFigure(mean=0.868, sem=0.016))
'86.8 % ± 1.6'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pcevolve.app.interface.notebook import render_table
from pcevolve.public.figures import format_loss, in_full


@dataclass(frozen=True, repr=False)
class CheckResult:
    """What a run would find in a private folder or table.

    Attributes:
        files: Number of images or texts found.
        units: Privacy units of each class, by label; empty if they cannot be counted yet.
        faults: What a run would refuse, and how to correct it.
        warnings: What the owner should know.
        rows: Titles and texts of the command's table.
    """

    labels: tuple[str, ...]
    files: int
    units: Mapping[str, int]
    faults: tuple[str, ...]
    warnings: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]

    @property
    def fit(self) -> bool:
        """True if a run would accept the data as they are."""
        return not self.faults

    def __bool__(self) -> bool:
        """Return True if a run would accept the data as they are."""
        return self.fit

    def __repr__(self) -> str:
        """Return one line: the verdict, then the evidence against it."""
        text = "fit" if self.fit else f"would be refused: {'; '.join(self.faults)}"
        return f"<CheckResult: {text}>"

    def _repr_html_(self) -> str:
        text = (
            "A run would take these data." if self.fit else f"A run would refuse these data. {self.faults[0]}"
        )
        notes = [("fix", each) for each in self.faults] + [("note", each) for each in self.warnings]
        return render_table(text, [*self.rows, *notes])


class FigureInterval(NamedTuple):
    """A figure and its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class AccuracyFigure:
    """Accuracy on held-out data, 0..1; ``sem`` is its standard error over seeds of the head."""

    mean: float
    sem: float

    def __str__(self) -> str:
        """Format the accuracy in %."""
        return f"{100 * self.mean:.1f} %" + (f" ± {100 * self.sem:.1f}" if self.sem else "")


@dataclass(frozen=True)
class SetFigures:
    """Figures of a judge that was trained on one set.

    Attributes:
        per_class: Share of each class's held-out items that are classified correctly, by label.
        confusion: For each true class (rows, in the run's order), how many items were assigned to each
            class, over all seeds.
    """

    accuracy: AccuracyFigure
    macro_f1: float
    per_class: Mapping[str, float]
    confusion: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ClosenessFigures:
    """Distances between two sets in a judge's embedding; if ``few``, compare only with sets of the same size."""

    frechet: float
    precision: float
    recall: float
    few: bool


@dataclass(frozen=True)
class MemorisationFigures:
    """How near the dataset is to private images.

    Attributes:
        closer_to_private: Share of the dataset that is nearer to private than to test data; about one half
            by chance.
        median_ratio: Median ratio of the two distances.
        copies: Names of images that are far nearer to a private image than chance allows.
    """

    closer_to_private: float
    median_ratio: float
    copies: tuple[str, ...]


@dataclass(frozen=True)
class JudgeFigures:
    """One judge's figures, with a field for each training set; None if there was no such set.

    Attributes:
        voted: Whether the judge's encoder selected the dataset; if so, its figures are better than those of an
            independent judge.
        words: Images that the provider made from words alone.
        random: A selection made without private data.
        both: Private data and dataset together.
    """

    judge: str
    voted: bool
    dataset: SetFigures
    words: SetFigures | None = None
    random: SetFigures | None = None
    shuffled: SetFigures | None = None
    private: SetFigures | None = None
    both: SetFigures | None = None
    distances: ClosenessFigures | None = None
    control_distances: ClosenessFigures | None = None
    memorisation: MemorisationFigures | None = None


@dataclass(frozen=True)
class MeasuredUse:
    """A dataset's usefulness, by judges that did not vote.

    Attributes:
        word: useful, doubtful or not useful; unknown without private data.
        share: The dataset's gain over chance, as a share of the private images' gain; None without private
            images, or if no judge learnt enough from them.
        ahead: The dataset's accuracy minus that of each set that costs no privacy, by name.
        accuracies: Mean accuracy of the judges for each set, by name.
    """

    word: str
    sentence: str
    advice: str
    judges: tuple[str, ...]
    share: FigureInterval | None
    ahead: Mapping[str, FigureInterval]
    accuracies: Mapping[str, FigureInterval]


@dataclass(frozen=True, repr=False)
class EvaluationResult:
    """Accuracies of classifiers trained on a dataset, and on sets that it is compared with; private.

    Attributes:
        items: Number of held-out images or texts.
        control: Description of the set that the dataset is compared with.
        classifier: Figures of the released class means; None if the run released none.
        measured: The verdict; None if every judge voted.
        copied_words: Longest sequence of words in common with a private text; None for images.
        not_checked: Why test data could not be compared with private data; empty if they were compared.
        page: The owner's page; None without a verdict.
    """

    labels: tuple[str, ...]
    chance: float
    items: int
    control: str
    judges: tuple[JudgeFigures, ...]
    classifier: SetFigures | None = None
    measured: MeasuredUse | None = None
    copied_words: int | None = None
    not_checked: str = ""
    page: Path | None = None

    def __repr__(self) -> str:
        """Return one line, the verdict first."""
        word = "" if self.measured is None else f"{self.measured.word}; "
        text = "; ".join(f"{each.judge} {each.dataset.accuracy}" for each in self.judges)
        return f"<EvaluationResult: {word}{text}; chance {self.chance:.1%}>"

    def _repr_html_(self) -> str:
        use = self.measured
        text = "Accuracy on held-out data" if use is None else f"{use.word}: {use.sentence}"
        return render_table(text, [("chance", f"{self.chance:.1%}"), *self._list_accuracies()])

    def _list_accuracies(self) -> Iterator[tuple[str, str]]:
        for row in self.judges:
            for name in ("dataset", "words", "random", "shuffled", "private", "both"):
                if (found := getattr(row, name)) is not None:
                    yield f"{row.judge}{' (voted)' * row.voted}, trained on {name}", str(found.accuracy)


@dataclass(frozen=True)
class ClassifiedFile:
    """The class whose released mean is nearest to a file.

    Attributes:
        score: 1 minus the ratio of the file's distances to that mean and to the next one: 0 halfway between
            the two, 1 at the mean. The score ranks files of one run, and is no probability.
    """

    path: Path
    label: str
    score: float


@dataclass(frozen=True)
class ClassificationResult:
    """Classes of files.

    ``private`` counts files that are the run's private data; the classes of these files prove nothing.
    """

    files: tuple[ClassifiedFile, ...]
    private: int

    def __iter__(self) -> Iterator[ClassifiedFile]:
        """Iterate over the files, in order."""
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


@dataclass(frozen=True)
class JudgedAccuracy:
    """One judge's accuracy for a run's dataset."""

    judge: str
    voted: bool
    accuracy: AccuracyFigure


@dataclass(frozen=True)
class RunFigures:
    """A finished run in a comparison.

    Attributes:
        name: The part of the folder's path that differs from the other runs'.
        epsilon: ε spent on a unit of the folder; None for a run without a guarantee.
        judges: Accuracies from ``evaluate``, else on the run's own test data; private.
        test: Digest of the judges' held-out data; compare only figures with the same digest.
    """

    name: str
    folder: Path
    method: str
    labels: tuple[str, ...]
    epsilon: float | None
    delta: float
    relation: str
    unit: str
    images: int
    requests: int
    marks: tuple[str, ...]
    estimated: str
    judges: tuple[JudgedAccuracy, ...] = ()
    measured: MeasuredUse | None = None
    test: str = ""


@dataclass(frozen=True)
class ComparisonResult:
    """Finished runs, compared."""

    runs: tuple[RunFigures, ...] = field(default=())

    @property
    def comparable(self) -> bool:
        """True if all accuracies are on the same held-out data."""
        return len({each.test for each in self.runs if each.judges}) <= 1

    def __iter__(self) -> Iterator[RunFigures]:
        """Iterate over the runs, in order."""
        return iter(self.runs)

    def _repr_html_(self) -> str:
        rows = [(each.name, "; ".join(_describe(each))) for each in self.runs]
        text = "Runs beside each other"
        return render_table(text if self.comparable else f"{text}, on different test data", rows)


def _describe(run: RunFigures) -> Iterator[str]:
    yield from (*run.marks, run.method)
    loss = "no guarantee"
    if run.epsilon is not None:
        loss = f"ε {format_loss(run.epsilon)} at δ {in_full(run.delta)}, {run.relation}"
    yield loss
    yield f"{run.images} files"
    yield run.estimated if run.measured is None else run.measured.word
    yield from (f"{each.judge} {each.accuracy}" for each in run.judges)
