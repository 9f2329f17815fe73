"""The private sets of the benchmarks: which may be tuned on and which are looked at once (docs/bench.md)."""

from __future__ import annotations

from dataclasses import dataclass

TUNED_ON, LOOKED_AT_ONCE = "tuned on", "looked at once"


@dataclass(frozen=True)
class PrivateSet:
    """Private data with a name.

    Attributes:
        title: For people.
        domain: What the prompt calls it.
        role: ``TUNED_ON`` or ``LOOKED_AT_ONCE``.
        known: What the bundled generator knows of it.
    """

    title: str
    domain: str
    role: str
    known: str


SAME, OTHER, RENDERED, NEVER = (
    "other images of the same source",
    "the domain from another source",
    "renderings of its kind",
    "nothing",
)
SETS = {
    "digits:3,5,8": PrivateSet("Digits 3, 5, 8", "handwritten digit", TUNED_ON, RENDERED),
    "digits:0,4,7": PrivateSet("Digits 0, 4, 7", "handwritten digit", TUNED_ON, RENDERED),
    "digits:1,6,9": PrivateSet("Digits 1, 6, 9", "handwritten digit", TUNED_ON, RENDERED),
    "marks:3=type A,8=type B": PrivateSet(
        "Digits 3 and 8 under names that say nothing", "handwritten mark", TUNED_ON, RENDERED
    ),
    "mnist:1,2,6": PrivateSet("MNIST 1, 2, 6", "handwritten digit", TUNED_ON, RENDERED),
    "steel:crazing,patches,scratches": PrivateSet(
        "Steel: crazing, patches, scratches", "steel surface", TUNED_ON, OTHER
    ),
    "xray:normal,pneumonia": PrivateSet("Chest X-ray", "chest x-ray", TUNED_ON, SAME),
    "blood:platelet,red blood cells,single red blood cell,white blood cell": PrivateSet(
        "Blood smear", "blood smear", TUNED_ON, SAME
    ),
    "machine:intact surface,pitting defect": PrivateSet(
        "Machine part surface", "machine part surface", TUNED_ON, OTHER
    ),
    "mnist:3,5,8": PrivateSet("MNIST 3, 5, 8", "handwritten digit", LOOKED_AT_ONCE, RENDERED),
    "steel:inclusion,pitted_surface,rolled-in_scale": PrivateSet(
        "Steel: three other defects", "steel surface", LOOKED_AT_ONCE, OTHER
    ),
    "mnist:0,4,9": PrivateSet("MNIST 0, 4, 9", "handwritten digit", LOOKED_AT_ONCE, RENDERED),
    "malaria:parasitized,uninfected": PrivateSet("Malaria cells", "blood cell", LOOKED_AT_ONCE, OTHER),
    "waste:cardboard,glass bottle,metal can,paper,plastic container": PrivateSet(
        "Household waste", "household waste", LOOKED_AT_ONCE, NEVER
    ),
    "leaf:apple scab,black rot,cedar apple rust,healthy": PrivateSet(
        "Apple leaf", "apple leaf", LOOKED_AT_ONCE, NEVER
    ),
}
"""All private sets, by names that a trial is written down with."""


def by_role() -> list[str]:
    """Names of all sets, those that were looked at once first."""
    return sorted(SETS, key=lambda name: SETS[name].role != LOOKED_AT_ONCE)
