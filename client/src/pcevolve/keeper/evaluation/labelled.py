"""Labelled images that an evaluation compares: a run's dataset, its control's dataset, and the owner's images."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.media import Item, find_medium
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import RunReader

RANDOM_CONTROL = "random"
"""Name of the control run's dataset in measurements."""
SHUFFLED = "shuffled"
"""Name of a run's own dataset with shuffled labels, which replaces a missing control."""


@dataclass(frozen=True, eq=False, repr=False)
class Labelled:
    """Images with their classes.

    Attributes:
        targets: int64 ``(images,)``, indices into the labels.
        names: The owner's name of each image.
        digest: SHA-256 that identifies the owner's set; empty for released sets.
    """

    images: Sequence[Item | None]
    targets: NDArray[np.int64]
    names: tuple[str, ...] = ()
    digest: bytes = b""

    @classmethod
    def released(cls, root: Path, labels: Sequence[str]) -> Labelled:
        """Load the dataset of a finished run.

        Raises:
            UsageError: The run is unfinished.
            DataError: A class has no image.
        """
        folder = RunLayout(root)
        run = RunReader.strict(root)
        run.manifest()  # raises an error that tells how to finish the run
        kind = find_medium(run.require_plan().modality.kind)
        files = [sorted((folder.release / label).glob(f"*{kind.suffix}")) for label in labels]
        if empty := [label for label, each in zip(labels, files, strict=True) if not each]:
            raise DataError(f"the dataset of {root} has no {kind.kind} of class {empty[0]!r}")
        paths = [path for each in files for path in each]
        targets = np.repeat(np.arange(len(labels)), [len(each) for each in files])
        names = tuple(str(path.relative_to(root)) for path in paths)
        return cls([kind.decode_release(path.read_bytes()) for path in paths], targets, names)

    @classmethod
    def drawn_by_words(cls, root: Path) -> Labelled | None:
        """Load the images that a finished run made from words alone; None if a class has no usable image."""
        run = RunReader.strict(root)
        plan = run.require_plan()
        decode = find_medium(plan.modality.kind).decode
        made = [
            (image, plan.labels.index(call.label))
            for call in (plan.round(0) if plan.start is None else ())
            for digest in run.outputs.get(call.slot, ())
            if (image := decode(run.bodies.file(digest))) is not None
        ]
        if len({target for _, target in made}) < len(plan.labels):
            return None
        return cls([image for image, _ in made], np.array([target for _, target in made]))

    @classmethod
    def of(cls, data: PrivateDataset) -> Labelled:
        digest = hashlib.sha256(b"".join(data.digests) + data.targets.tobytes()).digest()
        return cls(data.items, data.targets, digest=digest)

    def choose_at_random(self, like: Labelled) -> Labelled | None:
        """Choose items at random, as many of each class as ``like`` has; None if a class has no item more than that."""
        random = np.random.default_rng(0)  # fixed, because it protects nothing
        due, kept = np.bincount(like.targets), []
        for target, count in enumerate(due):
            places = np.flatnonzero(self.targets == target)
            if len(places) <= count:
                return None
            kept.append(np.sort(random.choice(places, count, replace=False)))
        chosen = np.concatenate(kept)
        return Labelled([self.images[place] for place in chosen], self.targets[chosen])

    def first(self, most: int) -> list[Item | None]:
        """Return the first ``most`` images of each class, class by class, for people to look at."""
        places = (np.flatnonzero(self.targets == target)[:most] for target in np.unique(self.targets))
        return [self.images[place] for each in places for place in each]


def find_control(root: Path, given: Path | None) -> Path | None:
    """Return the folder of the control: the given one, else ``RUN-random`` beside the run if it exists.

    Raises:
        UsageError: The given folder is no control of this run.
    """
    beside = root.absolute()  # ``.`` has no name
    found = given or beside.with_name(f"{beside.name}-random")
    if given is None and not RunLayout(found).release.is_dir():
        return None
    plan, control = (RunReader.strict(each).require_plan() for each in (root, found))
    if control.method.name == "random" and control.labels == plan.labels:
        return found
    if given is None:
        return None
    raise UsageError(f"--control {given} is not a run of method random with the same classes")
