"""Word what a public photograph shows, in the many ways a user might; also when a word means nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from material.facts import Rng
from material.prompts import Caption, article, nonsense, pick, pseudo_word, template


@dataclass(frozen=True)
class Words:
    """How one domain is spoken of and looked at.

    Attributes:
        names: Words for the domain, the usual one first.
        label_alone: Whether a label says what it is without the domain (``rose``, not ``normal``).
        symmetry: Which mirror images are images of the domain too: ``none``, ``sides`` or ``all``.
        smallest_crop: Least share of the side that a training view may show.
    """

    names: tuple[str, ...]
    label_alone: bool = False
    symmetry: Literal["none", "sides", "all"] = "sides"
    smallest_crop: float = 0.85


WORDS: dict[str, Words] = {
    "blood smear": Words(
        ("blood smear", "blood film", "peripheral blood smear", "blood cell", "blood microscopy"),
        label_alone=True,
        symmetry="all",
    ),
    "fluorescence microscopy": Words(
        ("fluorescence microscopy", "fluorescence", "fluorescent microscope", "DAPI"),
        symmetry="all",
        smallest_crop=0.6,
    ),
    "histology": Words(
        ("histology", "histology slide", "pathology", "H&E tissue", "biopsy"),
        label_alone=True,
        symmetry="all",
        smallest_crop=0.6,
    ),
    "cytology": Words(
        ("cytology", "cytology smear", "pap smear", "cytopathology"),
        label_alone=True,
        symmetry="all",
        smallest_crop=0.6,
    ),
    "chest x-ray": Words(
        ("chest x-ray", "chest radiograph", "x-ray", "radiograph", "lung x-ray"),
        symmetry="none",
        smallest_crop=0.9,
    ),
    "electron microscopy": Words(
        ("electron microscopy", "electron micrograph", "SEM", "electron microscope", "micrograph"),
        symmetry="all",
        smallest_crop=0.6,
    ),
    "satellite image": Words(
        ("satellite", "satellite image", "aerial", "aerial photo", "remote sensing"), symmetry="all"
    ),
    "clothing": Words(("clothing", "clothes", "garment", "apparel"), smallest_crop=0.9),
    "fruit": Words(("fruit", "fruit photo", "fresh fruit"), label_alone=True, smallest_crop=0.75),
    "vegetable": Words(
        ("vegetable", "vegetable photo", "fresh vegetable"), label_alone=True, smallest_crop=0.75
    ),
    "grocery package": Words(
        ("grocery package", "grocery", "food package", "carton", "packaging"), symmetry="none"
    ),
    "flower": Words(("flower", "flower photo", "blossom", "plant"), label_alone=True, smallest_crop=0.75),
    "bird": Words(("bird", "bird photo", "wildlife", "animal"), label_alone=True),
    "icon": Words(("icon", "emoji", "pictogram", "clip art"), smallest_crop=0.95),
    "texture": Words(
        ("texture", "material", "surface photo", "pattern"),
        label_alone=True,
        symmetry="all",
        smallest_crop=0.5,
    ),
    "wood": Words(("wood", "timber", "wooden", "wood photo"), symmetry="all", smallest_crop=0.5),
    "fabric": Words(("fabric", "woven fabric", "cloth photo"), symmetry="all", smallest_crop=0.5),
    "metal": Words(("metal", "sheet metal", "metal photo"), symmetry="all", smallest_crop=0.5),
}

KEPT = ("blood smear", "chest x-ray")
"""The domains that the generator is to show well; of the others it has too few photographs, or too small a network."""

_LABELS: dict[str, tuple[str, ...]] = {
    "pneumonia": ("pneumonia", "pneumonia", "lung infection"),
    "normal": ("normal", "normal", "healthy", "no finding"),
    "white blood cell": ("white blood cell", "white blood cell", "leukocyte"),
    "red blood cells": ("red blood cells", "red blood cells", "erythrocytes"),
    "single red blood cell": ("single red blood cell", "red blood cell", "erythrocyte"),
    "platelet": ("platelet", "platelet", "thrombocyte"),
    "cell nuclei": ("cell nuclei", "nuclei", "nucleus", "cells"),
    "squamous cells": ("squamous cells", "squamous cells", "epithelial cells"),
    "pants": ("pants", "pants", "trousers"),
    "t-shirt": ("t-shirt", "t-shirt", "tee shirt"),
    "long sleeve top": ("long sleeve top", "long sleeve top", "pullover", "sweater"),
    "shoes": ("shoes", "shoes", "shoe"),
    "aubergine": ("aubergine", "eggplant"),
    "zucchini": ("zucchini", "zucchini", "courgette"),
    "carrots": ("carrots", "carrots", "carrot"),
    "yoghurt": ("yoghurt", "yogurt"),
    "harbor": ("harbor", "harbor", "harbour"),
    "farmland": ("farmland", "farmland", "agricultural field"),
    "paving stones": ("paving stones", "paving stones", "pavement"),
    "bricks": ("bricks", "bricks", "brick wall"),
    "tiles": ("tiles", "tiles", "tile"),
}

DOMAIN_ONLY_SHARE, NONSENSE_SHARE, LABEL_ONLY_SHARE, NONSENSE_DOMAIN_SHARE = 0.12, 0.38, 0.1, 0.03


def caption(domain: str, label: str, rng: Rng) -> Caption:
    """Return one of the many captions that fit.

    Half name the domain alone or with a label that means nothing, so that a label the model never saw gives
    the domain in its whole variety.
    """
    words, roll = WORDS[domain], rng.random()
    name = words.names[0] if rng.random() < 0.4 else pick(rng, *words.names)
    title = pick(rng, *_LABELS.get(label, (label,)))
    if roll < DOMAIN_ONLY_SHARE:
        return Caption(_domain_only(name, rng), names_label=False)
    if roll < DOMAIN_ONLY_SHARE + NONSENSE_SHARE:
        return Caption(template(name, nonsense(rng), rng), names_label=False)
    rest = 1 - roll
    if words.label_alone and rest < LABEL_ONLY_SHARE:
        return Caption(pick(rng, title, article(title), f"a photo of {article(title)}"), names_label=True)
    if words.label_alone and rest < LABEL_ONLY_SHARE + NONSENSE_DOMAIN_SHARE:
        return Caption(template(pseudo_word(rng), title, rng), names_label=True)
    if rng.random() < 0.1:
        return Caption(f"{title} {name}", names_label=True)
    return Caption(template(name, title, rng), names_label=True)


def _domain_only(name: str, rng: Rng) -> str:
    return pick(rng, f"{article(name)} image".capitalize(), article(name), name, f"{name} image")
