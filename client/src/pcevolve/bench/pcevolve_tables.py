"""The tables and figures of the PCEvolve paper (Zhang et al., ICML 2025)."""

from __future__ import annotations

from pcevolve.bench.table import (
    COUNTS,
    EPSILONS,
    LE,
    LOOPS,
    NO_IMAGES,
    OURS,
    PCEVOLVE,
    PCEVOLVE_GM,
    PE,
    PE_EM,
    RF,
    SHOT_COUNTS,
    Table,
    Variant,
    value_columns,
)

PCEVOLVE_TABLES: tuple[Table, ...] = (
    Table(
        "table1",
        "Accuracy by method",
        "PCEvolve, Table 1",
        (LE, RF, PE, PE_EM, PCEVOLVE_GM, PCEVOLVE, OURS, NO_IMAGES),
    ),
    Table("table2", "Accuracy by API (--model, once for each)", "PCEvolve, Table 2", LOOPS, by="model"),
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
        value_columns("tau", (1.0, 5.0, 10.0, 20.0, 100.0), "τ"),
        axis="τ",
    ),
    Table("table6", "Accuracy by privacy budget", "PCEvolve, Table 6", LOOPS, EPSILONS, axis="ε"),
    Table("table7", "Private and synthetic images together", "PCEvolve, Table 7", LOOPS, measures=("mixed",)),
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
        measures=("by iteration",),
        axis="iteration",
    ),
    Table(
        "figure8",
        "Accuracy by the encoder that selects (--encoder, once for each)",
        "PCEvolve, Figure 8",
        LOOPS,
        by="encoder",
    ),
)
