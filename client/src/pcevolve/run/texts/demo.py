"""The demonstration with texts: meanings of nouns of three kinds."""

from __future__ import annotations

from typing import Final

from pcevolve.encoders import WORDS
from pcevolve.run.demonstration import Demonstration

DEMONSTRATION: Final = Demonstration(
    model="text:bundled",
    method="pe",  # what did best in docs/results/texts.md
    options={
        "private": "terms:disease=type A,drug=type B,body part=type C",
        "dialect": "chat",
        "model": "bundled-text",
        "domain": "definition",
        "epsilon": "10",
        "shots": 10,
        "candidates": 40,
        "initial": 160,
        "iterations": 5,
        "tokens": 40,
        "seed": 2026,
        "encoder": WORDS,
        "first_contact": 120.0,
    },
    secrets=("lung", "wing", "wood"),
    secret_options={
        "method": "secpe",
        "secret_size": 30,
        "iterations": 2,
        "lifetime_epsilon": "40",  # the main run has spent on the same texts, and the ledger adds both up
    },
)
