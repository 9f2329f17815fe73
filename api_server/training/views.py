"""Cut training views from the public photographs: ``images.npy`` and ``labels.json``, like ``render.py``.

Every domain gets the same number of views, and in it every label, whatever the number of their photographs: a
prompt that names no label is to give all of them as often. The held-back tenth and everything reserved is left
out (``material/photographs.py``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from material.captions import KEPT
from material.facts import SIZE
from material.photographs import Photograph, load, read_manifest, split, view
from PIL import Image
from render import contact_sheet


def write_views(public: Path, out: Path, each: int, seed: int, kept: Sequence[str] = KEPT) -> None:
    """Write ``each`` views of every domain that is kept, domain by domain."""
    training, _ = split(read_manifest(public))
    domains: dict[str, list[Photograph]] = {}
    for photograph in (each for each in training if each.domain in kept):
        domains.setdefault(photograph.domain, []).append(photograph)
    out.mkdir(parents=True, exist_ok=True)
    shape = (each * len(domains), SIZE, SIZE, 3)
    images = np.lib.format.open_memmap(out / "images.npy", mode="w+", dtype=np.uint8, shape=shape)
    labels: list[dict[str, str]] = []
    for number, (domain, members) in enumerate(sorted(domains.items())):
        rng = np.random.default_rng([seed, number])
        decoded: list[Image.Image] = [load(public, photograph) for photograph in members]
        for turn in _turns([photograph.label for photograph in members], each, rng):
            images[len(labels)] = np.asarray(view(decoded[turn], domain, rng))
            labels.append({"domain": domain, "label": members[turn].label})
        print(f"{domain}: {len(members)} photographs", flush=True)
    images.flush()
    (out / "labels.json").write_text(json.dumps(labels))
    sample = np.random.default_rng(seed).choice(len(images), min(256, len(images)), replace=False)
    contact_sheet(images[np.sort(sample)]).save(out / "sheet.png")


def _turns(labels: list[str], each: int, rng: np.random.Generator) -> list[int]:
    """Return ``each`` indices of photographs: every label as often, and its photographs in turn."""
    known = sorted(set(labels))
    found: list[int] = []
    for number, label in enumerate(known):
        members = np.flatnonzero(np.asarray(labels) == label)
        wanted = each // len(known) + (number < each % len(known))
        rounds = [rng.permutation(members) for _ in range(-(-wanted // len(members)))]
        found += np.concatenate(rounds)[:wanted].tolist()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--public", type=Path, required=True, help="folder with manifest.csv")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--each", type=int, default=2400, help="views per domain")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--domains", nargs="+", default=KEPT, help="all others are left out")
    args = parser.parse_args()
    write_views(args.public, args.out, args.each, args.seed, args.domains)


if __name__ == "__main__":
    main()
