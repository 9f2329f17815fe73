"""The tables, figures and ablations of Private Evolution (Lin et al., ICLR 2024)."""

from __future__ import annotations

from pcevolve_benchmarks.tables.table import (
    COUNTS,
    OURS,
    PE,
    PE_EPSILONS,
    PE_PAPER,
    SHOT_COUNTS,
    Table,
    Variant,
    value_columns,
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
