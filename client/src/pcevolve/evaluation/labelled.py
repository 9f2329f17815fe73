"""Labelled images that an evaluation compares: a run's dataset, its control's, and the owner's own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from pcevolve.durable import write_private_bytes
from pcevolve.errors import DataError, UsageError
from pcevolve.modality import Item, find_medium
from pcevolve.private.dataset import PrivateDataset
from pcevolve.transcript import RunLayout, RunReader

if TYPE_CHECKING:
    from pcevolve.evaluation.judge import Features, Judge


@dataclass(frozen=True)
class KeptFeatures:
    """A file of features for each encoder in the run's private folder, so that a later evaluation need not make them.

    Of what was **released** alone: from features an image can be rebuilt in part, so those of private and of held-out
    images are made anew each time, and nothing of them is written down.

    Attributes:
        digests: SHA-256, hex, of each file of the run's dataset, in the order of its images.
    """

    folder: Path
    digests: tuple[str, ...]

    def seen_by(self, judge: Judge, images: Sequence[Item | None]) -> Features:
        """Features of all images, ``(images, ...)``; those that were not kept are made, and kept."""
        known = self._find_known(judge)
        due = {
            digest: image for digest, image in zip(self.digests, images, strict=True) if digest not in known
        }
        if due:
            known |= dict(zip(due, judge.look(list(due.values())), strict=True))
            # None of what a dataset that has grown or shrunk no longer has.
            kept = {digest: known[digest] for digest in self.digests}
            write_private_bytes(self._path(judge), save(kept))
        return np.stack([known[digest] for digest in self.digests])

    def count_due(self, judge: Judge) -> int:
        """How many images the judge has to look at."""
        return len({*self.digests} - self._find_known(judge).keys())

    def _find_known(self, judge: Judge) -> dict[str, Features]:
        """Features by digest; none where the file is not there, or damaged."""
        path = self._path(judge)
        try:
            return load(path.read_bytes()) if path.is_file() else {}
        except (SafetensorError, ValueError):
            return {}

    def _path(self, judge: Judge) -> Path:
        named = "\n".join((judge.name, judge.weights, version("pcevolve")))
        return self.folder / f"features-{hashlib.sha256(named.encode()).hexdigest()[:16]}.safetensors"


RANDOM_CONTROL = "random"
"""What the dataset of a control run is called where it is measured."""
SHUFFLED = "shuffled"
"""What a run's own dataset is called when its labels were shuffled: it stands in where there is no control."""


@dataclass(frozen=True, eq=False, repr=False)
class Labelled:
    """Images with their classes.

    Attributes:
        targets: int64 ``(images,)``, places of the labels.
        names: What each image is called, for the owner.
        digest: SHA-256 of the owner's own, by which two sets of them are told apart; empty for what a run released.
        kept: Where features of what a run released are kept; None of the owner's own.
    """

    images: Sequence[Item | None]
    targets: NDArray[np.int64]
    names: tuple[str, ...] = ()
    digest: bytes = b""
    kept: KeptFeatures | None = None

    @classmethod
    def released(cls, root: Path, labels: Sequence[str]) -> Labelled:
        """The dataset of a finished run.

        Raises:
            UsageError: The run has not ended.
            DataError: A class has no image.
        """
        folder = RunLayout(root)
        run = RunReader.strict(root)
        run.manifest()  # there, or the error says how the run goes on
        kind = find_medium(run.require_plan().modality.kind)
        files = [sorted((folder.release / label).glob(f"*{kind.suffix}")) for label in labels]
        if empty := [label for label, each in zip(labels, files, strict=True) if not each]:
            raise DataError(f"the dataset of {root} has no {kind.kind} of class {empty[0]!r}")
        paths = [path for each in files for path in each]
        targets = np.repeat(np.arange(len(labels)), [len(each) for each in files])
        names = tuple(str(path.relative_to(root)) for path in paths)
        contents = [path.read_bytes() for path in paths]
        kept = KeptFeatures(folder.private, tuple(hashlib.sha256(each).hexdigest() for each in contents))
        return cls([kind.decode_release(each) for each in contents], targets, names, kept=kept)

    @classmethod
    def of(cls, data: PrivateDataset) -> Labelled:
        """Private or held-out images."""
        digest = hashlib.sha256(b"".join(data.digests) + data.targets.tobytes()).digest()
        return cls(data.items, data.targets, digest=digest)

    def seen_by(self, judge: Judge) -> Features:
        """Features of the images as a judge sees them, ``(images, ...)``; of released ones they may have been kept."""
        if self.kept is None or not judge.weights:
            return judge.look(self.images)
        return self.kept.seen_by(judge, self.images)

    def count_due(self, judge: Judge) -> int:
        """How many images the judge has to look at."""
        return len(self.images) if self.kept is None or not judge.weights else self.kept.count_due(judge)

    def first(self, most: int) -> list[Item | None]:
        """The first few images of each class, class after class; for people to look at."""
        places = (np.flatnonzero(self.targets == target)[:most] for target in np.unique(self.targets))
        return [self.images[place] for each in places for place in each]

    def shuffle(self, seed: int) -> Labelled:
        """These images under labels that say nothing."""
        return Labelled(self.images, np.random.default_rng(seed).permutation(self.targets), self.names)


def find_control(root: Path, given: Path | None) -> Path | None:
    """The control beside a run: the one given, else ``RUN-random`` if there is one; ``UsageError`` if unfit."""
    beside = root.absolute()  # ``.`` has no name
    found = given or beside.with_name(f"{beside.name}-random")
    if given is None and not RunLayout(found).release.is_dir():
        return None
    plan, control = (RunReader.strict(each).require_plan() for each in (root, found))
    if control.method == "random" and control.labels == plan.labels:
        return found
    if given is None:
        return None
    raise UsageError(f"--control {given} is no run of method random with the same classes")
