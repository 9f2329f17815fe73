"""One training set out of the library, and what judges say of it; the client's own loop, judge and ledger."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.judges import CNN, judge, judges
from benchmarks.library.cases import SHOTS, TESTED, Case, Contender
from benchmarks.library.judges import heads, voter
from benchmarks.private_sets import draw, say_nothing
from benchmarks.selectors.grid import NEAREST_MEAN, RANDOM_PHASE, Trial
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import Watch, make_plan, ran
from benchmarks.selectors.yardsticks import classify_by_means, paint_random_phases
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public import requests
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import OF_SEVERAL
from pcevolve.public.media.images.appearance import develop, find_released_appearance
from pcevolve.public.media.images.files import digest_pixels
from pcevolve.public.modality import Images
from pcevolve_server.library.generator import LibraryGenerator
from pcevolve_server.library.loading import load
from pcevolve_server.model_settings import ModelSettings

Row = dict[str, Any]
Made = tuple[list[Image.Image | None], list[int], Row]
"""Images, the class of each, and what is told of the run."""


_ENCODED: dict[str, bytes] = {}
"""Pictures by their pixels: a library answers with the same ones again and again, and compressing takes longest."""


class FromLibrary(LocalGenerator):
    """The library's answers, each compressed once."""

    def _encode(self, image: Image.Image) -> bytes:
        digest = digest_pixels(image).hex()
        if digest not in _ENCODED:
            _ENCODED[digest] = super()._encode(image)
        return _ENCODED[digest]


@cache
def library(folder: Path, cache_folder: Path) -> LibraryGenerator:
    """The library as a server has it."""
    settings = ModelSettings(model=f"library:{folder}", library_cache=str(cache_folder), threads=1)
    generator = load(settings, lambda: False)
    assert isinstance(generator, LibraryGenerator)
    return generator


def measure(case: Case, contender: Contender, seed: int, model: LibraryGenerator, work: Path) -> Row:
    """Accuracies of linear heads that did not vote; of the release alone that of the voter, which is named so."""
    trial = contender.trial(case, seed)
    private, held_out = draw(case.world, trial.shots, seed)[0], draw_tested(case, seed)
    about: Row = {"world": case.world, "seed": seed, "contender": contender.name}
    if contender.method == NEAREST_MEAN:
        eyes = voter(trial.encoder)
        said = classify_by_means(trial, private, eyes, eyes.embed(held_out.items), SeededNoise(seed))
        accuracy = float((said == held_out.targets).mean())
        return {**about, "verdicts": [_verdict(trial.encoder, True, accuracy)]}
    pictures, targets, told = make(case, contender, seed, model)
    verdicts = []
    for name, look in heads(work).items():
        if name in OF_SEVERAL.get(trial.encoder, (trial.encoder,)):
            continue  # it voted
        real, ours = look(held_out.items), look(pictures)
        accuracy = judge(name, ours, np.array(targets), real, held_out.targets, seed)
        verdicts.append(_verdict(name, False, accuracy))
    return {**about, **told, "verdicts": verdicts}


def from_scratch(case: Case, contender: Contender, seed: int, model: LibraryGenerator) -> Row:
    """Accuracy of the network that is trained on pixels alone, on the same training set."""
    trial = contender.trial(case, seed)
    held_out = draw_tested(case, seed)
    pictures, targets, told = make(case, contender, seed, model)
    look = judges(trial.encoder)[CNN]
    accuracy = judge(CNN, look(pictures), np.array(targets), look(held_out.items), held_out.targets, seed)
    about = {"world": case.world, "seed": seed, "contender": contender.name}
    return {**about, **told, "verdicts": [_verdict(CNN, False, accuracy)]}


@cache
def draw_tested(case: Case, seed: int) -> PrivateDataset:
    """Real images that no contender saw."""
    held_out = draw(case.world, SHOTS, seed)[1]
    return held_out.subset(np.random.default_rng([seed, TESTED]).permutation(len(held_out))[:TESTED])


def _verdict(judge: str, voted: bool, accuracy: float) -> Row:
    return {"judge": judge, "voted": voted, "accuracy": round(accuracy, 4)}


def make(case: Case, contender: Contender, seed: int, model: LibraryGenerator) -> Made:
    """The training set of a contender."""
    trial = contender.trial(case, seed)
    private = say_nothing(draw(case.world, trial.shots, seed)[0])
    if contender.method == "shots":
        return list(private.items), list(private.targets), {}
    if contender.method == RANDOM_PHASE:
        painted, targets = paint_random_phases(trial, private, SeededNoise(seed))
        return list(painted), targets, {}
    return _evolve(case, contender, trial, private, model)


def _evolve(
    case: Case, contender: Contender, trial: Trial, private: PrivateDataset, model: LibraryGenerator
) -> Made:
    """A whole run of a client, without HTTP."""
    size = model.info.base_resolution
    assert size is not None
    changes = {**contender.changes}
    trial = dataclasses.replace(
        trial, **{key: changes.pop(key) for key in ("iterations", "initial", "appearance") if key in changes}
    )
    asked = Images(
        width=size.width, height=size.height, steps=requests.USUAL_STEPS, guidance=requests.USUAL_GUIDANCE
    )
    plan, method = make_plan(trial, private.labels, asked)
    written = plan.model_dump()
    changed = {
        "data": {**written["data"], "domain": case.asked},
        "provider": {**written["provider"], "model": model.info.id},
    }
    plan = plan.model_validate({**written, **changes, **changed})
    generator, watch = FromLibrary(plan, model, shared=None), Watch()
    evolved = ran(plan, method, private, generator, SeededNoise(trial.seed), watch, voter(trial.encoder))
    look = find_released_appearance(evolved.receipts)
    pictures, targets, digests = [], [], set()
    for target, label in enumerate(private.labels):
        for each in evolved.dataset[label]:
            digests.add(generator.received(each.digest))
            pictures.append(develop(generator.received(each.digest), look))
            targets.append(target)
    told = {
        "bought": watch.images // len(private.labels),
        "distinct": round(len(digests) / len(pictures), 4),
        "matched": look is not None,
    }
    return pictures, targets, told
