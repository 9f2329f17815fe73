"""Declarations of tables: rows and columns as options of runs, and the original that it is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Yardstick: TypeAlias = Literal["", "shots", "classifier", "untrained"]
Measure: TypeAlias = Literal[
    "accuracy",
    "ensemble",
    "mixed",
    "fid",
    "by iteration",
    "best",
    "loss",
    "votes",
    "noise",
    "dimension",
    "to private",
    "to synthetic",
]
Sheets: TypeAlias = Literal["", "datasets", "nearest", "votes"]


@dataclass(frozen=True)
class Variant:
    """A row or a column: what it is called, and the options of ``pcevolve run``, or of a baseline, that make it.

    Attributes:
        name: For people.
        options: By the names of the run's settings.
        yardstick: What is judged in place of a run's images: the private ``shots`` themselves, the ``classifier`` that
            the run released, without any image, or an ``untrained`` head.
        papers: Of a column: whether it is the paper's own setting, which tables of every size have.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    yardstick: Yardstick = ""
    papers: bool = False


@dataclass(frozen=True)
class Original:
    """The sizes of a paper's own runs, for ``--paper`` and for the page; what it does not say is not here.

    Attributes:
        candidates: Images per class, N.
        shots: Private images per class, K.
        rounds: Iterations, T.
        encoder: By which it selected.
        options: Further options of its selecting methods.
        said: What else it had, in words.
    """

    candidates: int
    shots: int
    rounds: int
    encoder: str
    options: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""

    @property
    def spelled(self) -> str:
        """All of it, for people."""
        more = "".join(f", {name} {value}" for name, value in self.options.items())
        sizes = f"N = {self.candidates}, K = {self.shots}, T = {self.rounds}, encoder {self.encoder}{more}"
        return f"{sizes}; {self.said}" if self.said else sizes


RUNLESS: frozenset[Yardstick] = frozenset({"shots", "untrained"})
"""Yardsticks that need no run."""

PCEVOLVE_PAPER = Original(
    100,
    10,
    20,
    "resnet18",
    said="ε = 10 for COVIDx and MVTec AD, 8 for Camelyon17 and KVASIR; whole test sets; T is said of PCEvolve alone",
)
PCEVOLVE_CLIP = Original(100, 10, 20, "clip", said=PCEVOLVE_PAPER.said)
PE_PAPER = Original(
    5000,
    5000,
    20,
    "inception",
    {"lookahead": 8},
    "CIFAR-10, 50,000 images in all; δ = 1e-5; a noise multiplier of t√2 and H = 2t for t in 5, 10, 20, T up to 20",
)


B = Variant("B (t2i)", {"method": "t2i"})
RF = Variant("RF (not private)", {"method": "rf"})
GCAP = Variant("GCap (not private)", {"method": "gcap"})
DPIMG = Variant("DPImg", {"method": "dpimg"})
LE = Variant("LE (grammar)", {"method": "le"})
RANDOM = Variant("random", {"method": "random"})
SHOTS = Variant("private shots (no guarantee)", yardstick="shots")
INIT = Variant("Init (untrained head)", yardstick="untrained")
NO_IMAGES = Variant("dp-means, no images (voter)", {"method": "dp-means"}, "classifier")
"""In the tables of all judges, though it is the encoder that selected who says it."""
CONTROLS = (RANDOM, B, SHOTS)
"""In every table of datasets: a loop that looks at nothing, prompts alone, and the private images themselves."""
PE = Variant("PE", {"method": "pe"})
PE_EM = Variant("PE-EM", {"method": "pe-em"})
PCEVOLVE = Variant("PCEvolve", {"method": "pcevolve"})
PCEVOLVE_GM = Variant("PCEvolve-GM", {"method": "pcevolve-gm"})
OURS = Variant("dp-means (ours)", {"method": "dp-means"})
LOOPS = (PE, PCEVOLVE, OURS)
ALL = (INIT, RF, GCAP, LE, DPIMG, *LOOPS, NO_IMAGES)
"""The rows of the PCEvolve paper's comparisons, and ours."""


def value_columns(
    option: str, values: Sequence[Any], sign: str, papers: int | str | None = None
) -> tuple[Variant, ...]:
    """A column for each value of an option, one of which may be the paper's own setting."""
    return tuple(Variant(f"{sign} = {each}", {option: each}, papers=each == papers) for each in values)


EPSILONS = value_columns("epsilon", ("4", "8", "10", "20"), "ε", papers="10")
PE_EPSILONS = value_columns("epsilon", ("0.67", "1", "2", "3.34", "10"), "ε", papers="0.67")
COUNTS = value_columns("candidates", (50, 100, 150, 200, 500), "N", papers=100)
SHOT_COUNTS = value_columns("subsample", (1, 5, 10, 25, 50), "K", papers=10)


@dataclass(frozen=True)
class Table:
    """One table or figure of a paper.

    Attributes:
        name: What ``pcevolve-bench table`` calls it.
        title: What it shows.
        source: Where the original stands.
        rows: Besides the controls.
        columns: Variants of every row, where they concern it; one without a name for a table over data sets alone.
        saturations: By how much the colours of each data set are multiplied, for a column each; empty for data sets as
            they are.
        paper_columns: Those of ``--paper``, where a paper's own make sense at its own sizes alone.
        measures: What is shown, a part of the page for each.
        axis: What the columns are values of, for a figure; empty for a table without one.
        controls: Rows that are in every table of datasets.
        sheets: Pictures besides: the ``datasets`` side by side, synthetic images beside the ``nearest`` private ones,
            or the candidates with the most and the fewest ``votes``.
        by: What is named on the command line, once for each column; empty for columns of the table's own.
        original: Sizes of the paper's own runs.
    """

    name: str
    title: str
    source: str
    rows: tuple[Variant, ...]
    columns: tuple[Variant, ...] = (Variant(""),)
    measures: tuple[Measure, ...] = ("accuracy",)
    axis: str = ""
    controls: tuple[Variant, ...] = CONTROLS
    sheets: Sheets = ""
    by: Literal["", "provider", "encoder"] = ""
    original: Original = PCEVOLVE_PAPER
    paper_columns: tuple[Variant, ...] = ()
    saturations: tuple[float, ...] = ()
