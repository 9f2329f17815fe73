"""The API server's own generator inside the process: a ``Generator`` that works in large batches when somebody looks.

The loop asks for one call after the other; nothing is made until an image is wanted. Then everything that was asked
for so far is made in full batches, which on a CPU is several times faster than one request at a time.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from PIL import Image

from pcevolve.public.calls import Call
from pcevolve.public.loop.evolution import Ask
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate
from pcevolve_server.diffusion.generator import DiffusionGenerator
from pcevolve_server.diffusion.generator_loading import load
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.work import Generator, Recipe, Task
from pcevolve_shared import images
from pcevolve_shared.wire import Recommended

BATCH = 48


def load_model(name: str | Path) -> DiffusionGenerator:
    """Load a model, in the memory layout that this machine is fast with.

    Args:
        name: ``bundled``, or the folder of another one like it.
    """
    generator = load(ModelSettings(model=str(name), device="cpu", offline=True))
    assert isinstance(generator, DiffusionGenerator)
    pipeline = generator.text_to_image  # the image-to-image pipeline is made of the same parts
    for part in (pipeline.unet, pipeline.vae):
        part.to(memory_format=torch.channels_last)
    return generator


def recommend(generator: DiffusionGenerator) -> Recommended:
    """Steps and guidance that a model is best asked with: benchmarks ask as a run does that names none."""
    advice = generator.info.recommended
    assert advice is not None
    return advice


@dataclass
class LocalGenerator:
    """``Generator`` of one run.

    Attributes:
        plan: Says how images are made.
        model: Makes them.
        shared: Folder of pictures by what they depend on, kept for other runs with the same seed: methods that differ
            in their budget alone often choose alike. None for a model whose pictures are quickly made again.
        wordings: By which of its class's prompts each candidate was asked for, by id, where it has several.
    """

    plan: PublicPlan
    model: Generator
    shared: Path | None
    made: dict[str, bytes] = field(default_factory=dict)
    wordings: dict[str, int] = field(default_factory=dict)
    _waiting: list[tuple[str, str, int, str | None, float | None]] = field(default_factory=list)

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Name candidates; they are made once somebody looks."""
        for call, source in asks:
            parent = None if source is None else source.candidate
            if parent is not None and self.plan.keeps_prompts:
                call = replace(call, wording=self.wordings.get(parent.id))
            yield self._name(call, None if self.plan.varies_prompts else parent)

    def received(self, digest: str) -> bytes:
        """A picture; here candidates' ids stand for their digests."""
        if digest not in self.made:
            self._make()
        return self.made[digest]

    def _name(self, call: Call, parent: Candidate | None) -> tuple[Candidate, ...]:
        source = None if parent is None else parent.id
        for index in range(call.count):
            if call.wording is not None:
                self.wordings[call.output(index)] = call.wording
            seed = (call.seed + index) % 2**32
            self._waiting.append((call.output(index), self.plan.prompt_of(call), seed, source, call.strength))
        return tuple(
            Candidate(call.output(k), call.label, call.iteration, source, call.output(k))
            for k in range(call.count)
        )

    def _make(self) -> None:
        """Make everything that waits, equal recipes together, and what is varied before its variations."""
        while self._waiting:
            groups, later = defaultdict(list), []
            for each in self._waiting:
                name, prompt, seed, source, strength = each
                if source is None or source in self.made:
                    groups[strength].append((name, prompt, seed, source))
                else:
                    later.append(each)
            self._waiting = later
            for strength, members in groups.items():
                missing = [member for member in members if not self._find(strength, *member)]
                for start in range(0, len(missing), BATCH):
                    self._batch(strength, missing[start : start + BATCH])

    def _find(self, strength: float | None, name: str, prompt: str, seed: int, source: str | None) -> bool:
        """Take what another run has made already."""
        known = self._shared(strength, prompt, seed, source)
        if known is None or not known.exists():
            return False
        self.made[name] = known.read_bytes()
        return True

    def _batch(self, strength: float | None, members: list[tuple]) -> None:
        asked = self.plan.images
        assert asked.steps is not None
        assert asked.guidance is not None
        recipe = Recipe(asked.width, asked.height, asked.steps, asked.guidance, strength=strength)
        tasks = [Task(recipe, prompt, "", seed, self._image(source)) for _, prompt, seed, source in members]
        pictures = self.model.create(tasks) if strength is None else self.model.vary(tasks)
        for (name, prompt, seed, source), picture in zip(members, pictures, strict=True):
            assert picture.image is not None
            self.made[name] = self._encode(picture.image)
            if place := self._shared(strength, prompt, seed, source):
                _write(place, self.made[name])

    def _shared(self, strength: float | None, prompt: str, seed: int, source: str | None) -> Path | None:
        if self.shared is None:
            return None
        asked = self.plan.images
        text = f"{prompt}/{seed}/{asked.steps}/{asked.guidance}/{asked.width}"
        if source is not None:
            text += f"/{strength}/{hashlib.sha256(self.made[source]).hexdigest()}"
        return self.shared / hashlib.sha256(text.encode()).hexdigest()

    def _encode(self, image: Image.Image) -> bytes:
        return images.encode(image)

    def _image(self, source: str | None) -> Image.Image | None:
        return None if source is None else images.decode(self.made[source])


def _write(path: Path, data: bytes) -> None:
    """In one step: another process may be looking."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(path)
