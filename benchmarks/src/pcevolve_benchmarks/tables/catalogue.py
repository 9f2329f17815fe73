"""Every table and figure that ``pcevolve-bench table`` makes, by name.

After PCEvolve (Zhang et al., ICML 2025) and Private Evolution (Lin et al., ICLR 2024).
"""

from __future__ import annotations

from pcevolve.errors import UsageError
from pcevolve_benchmarks.tables.table import (
    ALL,
    COUNTS,
    DPIMG,
    EPSILONS,
    GCAP,
    INIT,
    LE,
    LOOPS,
    NO_IMAGES,
    OURS,
    PCEVOLVE,
    PCEVOLVE_CLIP,
    PCEVOLVE_GM,
    PE,
    PE_EM,
    PE_EPSILONS,
    PE_PAPER,
    RF,
    SHOT_COUNTS,
    Table,
    Variant,
    value_columns,
)

PCEVOLVE_TABLES: tuple[Table, ...] = (
    Table(
        "figure1",
        "Votes of the private images of a class beside the noise on them, first iteration",
        "PCEvolve, Figure 1",
        (PE,),
        SHOT_COUNTS,
        measures=("noise",),
        axis="K",
        controls=(),
    ),
    Table(
        "table1",
        "Accuracy by method",
        "PCEvolve, Table 1",
        (INIT, RF, GCAP, LE, DPIMG, PE, PE_EM, PCEVOLVE_GM, PCEVOLVE, OURS, NO_IMAGES),
    ),
    Table(
        "table2", "Accuracy by API (--providers, or several --model)", "PCEvolve, Table 2", ALL, by="provider"
    ),
    Table(
        "table3",
        "PCEvolve's utility and its ablations",
        "PCEvolve, Table 3",
        (
            INIT,
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
        value_columns("tau", (1, 5, 10, 20, 100), "τ", papers=10),
        axis="τ",
    ),
    Table("table5", "The data sets", "PCEvolve, Table 5", (), measures=(), controls=()),
    Table("table6", "Accuracy by privacy budget", "PCEvolve, Table 6", LOOPS, EPSILONS, axis="ε"),
    Table("table7", "Private and synthetic images together", "PCEvolve, Table 7", ALL, measures=("mixed",)),
    Table("figure3", "Accuracy by private shots", "PCEvolve, Figure 3", ALL, SHOT_COUNTS, axis="K"),
    Table("figure4", "Accuracy by synthetic images", "PCEvolve, Figure 4", LOOPS, COUNTS, axis="N"),
    Table(
        "figure5",
        "Accuracy of other downstream models (--judge, once for each)",
        "PCEvolve, Figure 5",
        ALL,
        original=PCEVOLVE_CLIP,
    ),
    Table("figure6", "The datasets side by side", "PCEvolve, Figure 6", LOOPS, sheets="datasets"),
    Table(
        "figure7",
        "Loss of heads on what they were trained on, and accuracy, over the iterations; the best beside the last",
        "PCEvolve, Figure 7",
        (PE, PCEVOLVE),
        measures=("loss", "by iteration", "best"),
        axis="iteration",
        original=PCEVOLVE_CLIP,
    ),
    Table(
        "figure8",
        "Accuracy by the encoder that selects (--encoder, once for each)",
        "PCEvolve, Figure 8",
        LOOPS,
        by="encoder",
    ),
)


FIRST_ROUNDS = tuple(
    Variant(
        f"ε = {epsilon}",
        {"epsilon": epsilon, "iterations": rounds, "threshold": 4.0, "relation": "add-remove"},
    )
    for rounds, epsilon in enumerate(("1.36", "1.99", "2.50", "2.94", "3.34"), 1)
)
"""Table 1: the first five rounds of one run, at a noise multiplier of 2√2 and H = 4."""
PRIVATE_COUNTS = tuple(
    Variant(f"{10 * count:,} private images", {"subsample": count, "candidates": count})
    for count in (5000, 2000, 1000, 500)
)
"""Table 2: of CIFAR-10's ten classes together, and as many synthetic ones, N_syn / N_priv = 1."""

PE_TABLES: tuple[Table, ...] = (
    Table(
        "pe-accuracy",
        "Private Evolution's accuracy by privacy budget",
        "Private Evolution, Table 1 and Figure 5",
        (PE, OURS),
        PE_EPSILONS,
        measures=("accuracy", "ensemble"),
        axis="ε",
        original=PE_PAPER,
        paper_columns=FIRST_ROUNDS,
    ),
    Table(
        "pe-fid",
        "Private Evolution's Fréchet distance by privacy budget",
        "Private Evolution, Figure 4",
        (PE, OURS),
        PE_EPSILONS,
        measures=("fid", "accuracy"),
        axis="ε",
        original=PE_PAPER,
    ),
    Table(
        "pe-private",
        "Private Evolution by the number of private images",
        "Private Evolution, Table 2",
        (PE, OURS),
        SHOT_COUNTS,
        axis="K",
        measures=("fid", "accuracy"),
        original=PE_PAPER,
        paper_columns=PRIVATE_COUNTS,
    ),
    Table(
        "pe-lookahead",
        "Private Evolution's lookahead",
        "Private Evolution, Figure 38",
        (PE,),
        value_columns("lookahead", (0, 1, 4, 8), "k", papers=8),
        axis="k",
        measures=("fid", "accuracy"),
        original=PE_PAPER,
    ),
    Table(
        "pe-samples",
        "Private Evolution by population size",
        "Private Evolution, Figure 39",
        (PE,),
        COUNTS,
        axis="N",
        measures=("fid", "accuracy"),
        original=PE_PAPER,
    ),
    Table(
        "pe-threshold",
        "Private Evolution's threshold",
        "Private Evolution, Figure 40",
        (PE,),
        value_columns("threshold", (0, 1, 2, 4), "H", papers=4),
        axis="H",
        measures=("fid", "accuracy"),
        original=PE_PAPER,
    ),
    Table(
        "pe-votes",
        "How many candidates each private image votes for",
        "Lin et al.'s published code, num_nearest_neighbors",
        (PE,),
        value_columns("votes", (1, 2, 5, 10), "q", papers=1),
        axis="q",
        measures=("fid", "accuracy"),
        original=PE_PAPER,
    ),
    Table(
        "pe-spread",
        "How far votes are spread: standard deviation of the noisy counts above the threshold, by iteration; and who "
        "had most and fewest",
        "Private Evolution, Figures 19 and 20",
        (PE,),
        measures=("votes",),
        axis="iteration",
        sheets="votes",
        original=PE_PAPER,
    ),
    Table(
        "pe-distances",
        "Distance to the nearest private image, and from it to the nearest synthetic one, by iteration",
        "Private Evolution, Figures 15 to 18",
        (PE, OURS),
        measures=("to private", "to synthetic"),
        axis="iteration",
        sheets="nearest",
        original=PE_PAPER,
    ),
    Table(
        "pe-saturation",
        "Private Evolution where the private images' colours are weaker or stronger than the generator's",
        "Private Evolution, Figure 30",
        (PE, OURS),
        measures=("fid", "accuracy"),
        original=PE_PAPER,
        saturations=(1.0, 0.0, 0.5, 2.0),
    ),
    Table(
        "pe-dimension",
        "Intrinsic dimension of embeddings: of datasets, and of the held-out images (in the row of the shots)",
        "the question of Private Evolution, Figure 9, asked of datasets",
        (PE, OURS),
        measures=("dimension",),
        original=PE_PAPER,
    ),
    Table(
        "pe-encoder",
        "Private Evolution by encoder (--encoder, once for each)",
        "Private Evolution, Figure 41",
        (PE,),
        by="encoder",
        measures=("fid", "accuracy"),
        original=PE_PAPER,
    ),
)


TABLES: dict[str, Table] = {each.name: each for each in (*PCEVOLVE_TABLES, *PE_TABLES)}


def table(name: str) -> Table:
    """Find a table.

    Raises:
        UsageError: There is none of that name.
    """
    if not name:
        raise UsageError("name a table or figure: pcevolve-bench table --list names them")
    if name not in TABLES:
        raise UsageError(f"there is no table '{name}': pcevolve-bench table --list names them")
    return TABLES[name]
