"""The demonstration with images: handwritten 3s and 8s."""

from __future__ import annotations

from typing import Final

from pcevolve.run.demonstration import Demonstration

DEMONSTRATION: Final = Demonstration(
    model="bundled",
    method="auto",
    options={
        "private": "digits:3=type A,8=type B",
        "domain": "handwritten mark",
        "epsilon": "10",
        "shots": 10,
        "iterations": 1,  # to show the whole way, back to the provider and from it; selection alone does as well
        "steps": 4,
        "guidance": 1.0,
        "batch": 30,
        "seed": 2026,
        "encoder": "bundled",  # the same on every machine, whatever was fetched there
        "first_contact": 120.0,
    },
    probe={"method": "t2i", "iterations": None, "candidates": 30},
)
