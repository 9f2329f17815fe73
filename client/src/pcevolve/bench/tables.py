"""Every table and figure that ``pcevolve bench`` makes, as declarations: rows, columns, and what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pcevolve.errors import UsageError

Yardstick: TypeAlias = Literal["", "shots", "classifier", "resembling"]
Measure: TypeAlias = Literal["accuracy", "mixed", "fid", "by iteration", "votes", "dimension"]


@dataclass(frozen=True)
class Variant:
    """A row or a column: what it is called, and the options of ``pcevolve run`` that make it.

    Attributes:
        name: For people.
        options: By the names of the run's settings.
        yardstick: What is judged in place of a run's images: the private ``shots`` themselves, the ``classifier`` that
            the run released, without any image, or of the run's images those that ``resembling`` keeps.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    yardstick: Yardstick = ""


@dataclass(frozen=True)
class Table:
    """One table or figure of a paper.

    Attributes:
        name: What ``pcevolve bench`` calls it.
        title: What it shows.
        source: Where the original stands.
        rows: Besides the controls, which are in every table.
        columns: Variants of every row, where they concern it; one without a name for a table over data sets alone.
        measure: What is shown.
        axis: What the columns are values of, for a figure; empty for a table without one.
        sheets: Whether pictures of the datasets are shown side by side.
    """

    name: str
    title: str
    source: str
    rows: tuple[Variant, ...]
    columns: tuple[Variant, ...] = (Variant(""),)
    measure: Measure = "accuracy"
    axis: str = ""
    sheets: bool = False


B = Variant("B (t2i)", {"method": "t2i"})
RF = Variant("RF (not private)", {"method": "t2i"}, "resembling")
LE = Variant("LE (grammar)", {"method": "le"})
RANDOM = Variant("random", {"method": "random"})
SHOTS = Variant("private shots", yardstick="shots")
NO_IMAGES = Variant("dp-means, no images", {"method": "dp-means"}, "classifier")
CONTROLS = (RANDOM, B, SHOTS)
"""In every table: a loop that looks at nothing, prompts alone, and the private images themselves."""
PE = Variant("PE", {"method": "pe"})
PE_EM = Variant("PE-EM", {"method": "pe-em"})
PCEVOLVE = Variant("PCEvolve", {"method": "pcevolve"})
PCEVOLVE_GM = Variant("PCEvolve-GM", {"method": "pcevolve-gm"})
OURS = Variant("dp-means (ours)", {"method": "dp-means"})
LOOPS = (PE, PCEVOLVE, OURS)


def _values(option: str, values: tuple[Any, ...], sign: str) -> tuple[Variant, ...]:
    return tuple(Variant(f"{sign} = {value:g}", {option: value}) for value in values)


EPSILONS = tuple(Variant(f"ε = {value}", {"epsilon": value}) for value in ("4", "8", "10", "20"))
PE_EPSILONS = tuple(Variant(f"ε = {value}", {"epsilon": value}) for value in ("0.67", "1", "2", "3.34", "10"))
COUNTS = _values("candidates", (50, 100, 150, 200, 500), "N")
SHOT_COUNTS = _values("subsample", (1, 5, 10, 25, 50), "K")
ENCODERS = tuple(Variant(name, {"encoder": name}) for name in ("bundled", "bundled+spectrum"))

TABLES: dict[str, Table] = {
    each.name: each
    for each in (
        Table(
            "table1",
            "Accuracy by method",
            "PCEvolve, Table 1",
            (LE, RF, PE, PE_EM, PCEVOLVE_GM, PCEVOLVE, OURS, NO_IMAGES),
        ),
        Table("table2", "Accuracy by API (--model, once for each)", "PCEvolve, Table 2", LOOPS),
        Table(
            "table3",
            "PCEvolve's utility and its ablations",
            "PCEvolve, Table 3",
            (
                Variant("u = h∘g", {"method": "pcevolve"}),
                Variant("u = g", {"method": "pcevolve-g"}),
                Variant("u = h'∘g", {"method": "pcevolve-exp"}),
                Variant("u = h", {"method": "pcevolve-h"}),
            ),
        ),
        Table(
            "table4",
            "PCEvolve's similarity calibrator",
            "PCEvolve, Table 4",
            (PCEVOLVE,),
            _values("tau", (1.0, 5.0, 10.0, 20.0, 100.0), "τ"),
            axis="τ",
        ),
        Table("table6", "Accuracy by privacy budget", "PCEvolve, Table 6", LOOPS, EPSILONS, axis="ε"),
        Table("table7", "Private and synthetic images together", "PCEvolve, Table 7", LOOPS, measure="mixed"),
        Table("figure3", "Accuracy by private shots", "PCEvolve, Figure 3", LOOPS, SHOT_COUNTS, axis="K"),
        Table("figure4", "Accuracy by synthetic images", "PCEvolve, Figure 4", LOOPS, COUNTS, axis="N"),
        Table(
            "figure5",
            "Accuracy of other downstream models (--judge, once for each)",
            "PCEvolve, Figure 5",
            LOOPS,
        ),
        Table("figure6", "The datasets side by side", "PCEvolve, Figure 6", LOOPS, sheets=True),
        Table(
            "figure7",
            "Accuracy over the iterations (the paper plots the loss in training)",
            "PCEvolve, Figure 7",
            (PE, PCEVOLVE),
            measure="by iteration",
            axis="iteration",
        ),
        Table("figure8", "Accuracy by the encoder that selects", "PCEvolve, Figure 8", LOOPS, ENCODERS),
        Table(
            "pe-accuracy",
            "Private Evolution's accuracy by privacy budget",
            "Private Evolution, Table 1 and Figure 5",
            (PE, OURS),
            PE_EPSILONS,
            axis="ε",
        ),
        Table(
            "pe-fid",
            "Private Evolution's Fréchet distance by privacy budget",
            "Private Evolution, Figure 4",
            (PE, OURS),
            PE_EPSILONS,
            measure="fid",
            axis="ε",
        ),
        Table(
            "pe-private",
            "Private Evolution by the number of private images",
            "Private Evolution, appendix, number of private samples",
            (PE, OURS),
            SHOT_COUNTS,
            axis="K",
        ),
        Table(
            "pe-lookahead",
            "Private Evolution's lookahead",
            "Private Evolution, Figure 38",
            (PE,),
            _values("lookahead", (0, 1, 4, 8), "k"),
            axis="k",
        ),
        Table(
            "pe-samples",
            "Private Evolution by population size",
            "Private Evolution, Figure 39",
            (PE,),
            COUNTS,
            axis="N",
        ),
        Table(
            "pe-threshold",
            "Private Evolution's threshold",
            "Private Evolution, Figure 40",
            (PE,),
            _values("threshold", (0.0, 1.0, 2.0, 4.0), "H"),
            axis="H",
        ),
        Table(
            "pe-votes",
            "How many candidates each private image votes for",
            "Lin et al.'s published code, num_nearest_neighbors",
            (PE,),
            _values("votes", (1, 2, 5, 10), "q"),
            axis="q",
        ),
        Table(
            "pe-spread",
            "How far votes are spread: standard deviation of the noisy counts above the threshold, by iteration",
            "Private Evolution, Figure 20",
            (PE,),
            measure="votes",
            axis="iteration",
        ),
        Table(
            "pe-dimension",
            "Intrinsic dimension of embeddings: of datasets, and of the held-out images (in the row of the shots)",
            "Private Evolution, Figure 9",
            (PE, OURS),
            measure="dimension",
        ),
        Table(
            "pe-encoder",
            "Private Evolution by encoder",
            "Private Evolution, Figure 41",
            (PE,),
            ENCODERS,
        ),
    )
}


def table(name: str) -> Table:
    """Find a table.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in TABLES:
        raise UsageError(f"there is no table '{name}': pcevolve bench --list names them")
    return TABLES[name]
