"""Studies on real texts: private classes, methods, and what of the private texts is secret."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from pcevolve.keeper.private.bundled import load_terms
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private_data import SPLIT_SEED
from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.dp.attacks import secret_budget
from pcevolve.public.privacy import Event
from pcevolve_benchmarks.tables.sizes import DatasetFacts

Options = Mapping[str, object]

WORLDS: Final = {
    "disease, drug, body part": ("disease", "drug", "body part"),
    "bird, fish, food": ("bird", "fish", "food"),
    "garment, musical instrument, vehicle, weapon": ("garment", "musical instrument", "vehicle", "weapon"),
}
"""Private classes; on the first some settings were tried, the others were looked at once."""
SECRET_WORDS: Final = ("lung", "wing", "wood")
"""Words that are taken for secrets: texts that hold one count less."""
ALL, FEW = "ward", "rare ward"
"""Columns of secrets: of every private text, and of one in ten."""
HOLDERS: Final = 3
"""Texts that one secret of the column stands in."""
PRIOR: Final = 1e-4
DELTA: Final = 1e-5


def find_equal_epsilon(prior: float, bound: float, most: int, delta: float) -> str:
    """ε at which a run without declared secrets keeps ``bound`` for any secret, by group privacy, as options take it.

    Under replace-one, where ``most`` texts change together.
    """
    budget = Fraction(secret_budget(prior, bound))
    return f"{epsilon([Event('gaussian', str(most / budget))], delta):.6f}"


@dataclass(frozen=True)
class Study:
    """One table.

    Attributes:
        name: As ``pcevolve-bench table`` takes it.
        title: What it shows.
        worlds: Private classes, by name.
        methods: Options of each row, by name.
        small: Rows that ``--smoke`` makes.
        shots: Private texts per class.
        seeds: Runs of each row.
        wards: Whether private texts have secrets, which three share.
        options: Of all rows.
    """

    name: str
    title: str
    worlds: Mapping[str, tuple[str, ...]]
    methods: Mapping[str, Options]
    small: tuple[str, ...]
    shots: int
    seeds: int
    wards: bool = False
    options: Options = field(default_factory=dict)

    def data(self, world: str, folder: Path) -> dict[str, str]:
        """Where the private and the held-out texts of a world are, as options of a run name them."""
        kinds = {kind: f"type {chr(ord('A') + place)}" for place, kind in enumerate(self.worlds[world])}
        if not self.wards:
            source = "terms:" + ",".join(f"{kind}={label}" for kind, label in kinds.items())
            return {"private": source, "test": source}
        own, rest = load_terms(self.shots, kinds, SPLIT_SEED)
        return {
            "private": str(_write(folder / "private.csv", own)),
            "test": str(_write(folder / "test.csv", rest)),
        }

    def options_of(self, name: str, folder: Path) -> dict[str, Any]:
        """Options of a row's runs, without those that all have."""
        given = {**self.options, **self.methods[name], "shots": self.shots}
        if "secret_prior" in DatasetFacts.of(str(given["method"])).foreign:
            return given
        if given.get("secret_columns"):
            return given
        listed = folder / "secrets.txt"
        listed.write_text("\n".join(SECRET_WORDS if not self.wards else ["no text holds this"]) + "\n")
        return {**given, "secrets": listed}


def _secpe(ratio: float, **more: object) -> Options:
    promise = {"secret_bound": ratio * PRIOR, "secret_size": HOLDERS, "secret_columns": (ALL,)}
    return {"method": "secpe", **promise, **more}


def _aug_pe(ratio: float, **more: object) -> Options:
    """Aug-PE at the ε that promises SecPE's bound for whatever may be secret in any text, by group privacy."""
    return {"method": "aug-pe", "epsilon": find_equal_epsilon(PRIOR, ratio * PRIOR, HOLDERS, DELTA), **more}


def _write(path: Path, data: PrivateDataset) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label", ALL, FEW])
        for place, text in enumerate(data.items):
            ward = place // HOLDERS
            few = "" if ward % 10 else f"ward {ward}"
            rows.writerow([text, data.labels[data.targets[place]], f"ward {ward}", few])
    return path


PUBLISHED: Final[Options] = {"iterations": 9, "variations": 3}
"""Aug-PE's own sizes: ten votes, the last of which selects the dataset, and L = 4."""
FALLING: Final = (0.6, 0.5, 0.4, *[0.3] * 6)
"""SecPE's blanks, where Aug-PE has half of the words throughout."""
RATIOS: Final = (2, 10, 50)
FIRST: Final = 160
"""First candidates of each class."""
STUDIES: Final[Mapping[str, Study]] = {
    each.name: each
    for each in (
        Study(
            name="text",
            title="methods on real texts, with the bundled language model",
            worlds=WORLDS,
            methods={
                "t2i": {"method": "t2i"},
                "random": {"method": "random", "iterations": 5, "initial": 160},
                "aug-pe": {"method": "aug-pe"},
                "aug-pe, 4 rounds of 1": {
                    "method": "aug-pe",
                    "iterations": 4,
                    "variations": 1,
                    "initial": 160,
                },
                "pe": {"method": "pe", "iterations": 5, "initial": 160},
                "secpe": {"method": "secpe", "iterations": 4, "initial": 160, "secret_size": 30},
                "secpe, 9 rounds of 3": {
                    "method": "secpe",
                    "iterations": 9,
                    "variations": 3,
                    "initial": 160,
                    "secret_size": 30,
                },
                "secpe, as noted": {
                    "method": "secpe-as-noted",
                    "iterations": 4,
                    "initial": 160,
                    "secret_size": 30,
                },
                "dp-means": {"method": "dp-means"},
                "dp-means, 2 rounds": {"method": "dp-means", "iterations": 2},
            },
            small=("random", "aug-pe", "secpe"),
            shots=10,
            seeds=10,
        ),
        Study(
            name="text-secrets",
            title="SecPE and Aug-PE where every private text has a secret, at equal r/p",
            worlds={"disease, drug, body part": WORLDS["disease, drug, body part"]},
            methods={
                "random": {"method": "random"},
                **{f"secpe, r/p = {ratio}": _secpe(ratio) for ratio in RATIOS},
                f"secpe, none secret, K = {FIRST}": {"method": "secpe", "cells": FIRST},
                **{f"secpe, r/p = {ratio}, K = {FIRST}": _secpe(ratio, cells=FIRST) for ratio in RATIOS},
                **{
                    f"secpe, r/p = {ratio}, one text in ten, K = {FIRST}": _secpe(
                        ratio, secret_columns=(FEW,), cells=FIRST
                    )
                    for ratio in RATIOS
                },
                **{
                    f"secpe, r/p = 10, {first} first texts, K = {first}": _secpe(
                        10, initial=first, cells=first
                    )
                    for first in (80, 320)
                },
                **{
                    f"secpe, {said}, K = {FIRST}, 9 rounds of 3": {**options, **PUBLISHED}
                    for said, options in (
                        ("none secret", {"method": "secpe", "cells": FIRST}),
                        *((f"r/p = {ratio}", _secpe(ratio, cells=FIRST)) for ratio in RATIOS),
                        *(
                            (
                                f"r/p = {ratio}, one text in ten",
                                _secpe(ratio, secret_columns=(FEW,), cells=FIRST),
                            )
                            for ratio in RATIOS
                        ),
                    )
                },
                "aug-pe, none secret": {"method": "aug-pe", **PUBLISHED},
                **{f"aug-pe, r/p = {ratio}": _aug_pe(ratio, **PUBLISHED) for ratio in RATIOS},
                **{
                    f"aug-pe, {said}, {how}": {**options, **sizes}
                    for how, sizes in (
                        ("SecPE's blanks", {**PUBLISHED, "strengths": FALLING}),
                        ("SecPE's blanks, 3 rounds of 1", {"variations": 1, "strengths": FALLING[:3]}),
                    )
                    for said, options in (
                        ("none secret", {"method": "aug-pe"}),
                        *((f"r/p = {ratio}", _aug_pe(ratio)) for ratio in RATIOS),
                    )
                },
            },
            small=("random", "secpe, r/p = 10", "aug-pe, r/p = 10"),
            shots=90,
            seeds=4,
            wards=True,
            options={"iterations": 3, "initial": FIRST, "delta": DELTA},
        ),
    )
}
