"""The private sets of development, candidates for them, and what encoders and judges make of all of it; cached."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from benchmarks.judges import ONNX, other_eyes
from benchmarks.private_sets import whole
from benchmarks.split import SETS
from pcevolve.encoders import bundled_digest, load_encoder
from pcevolve.modality.images.scans import framed

Images = list[Image.Image]
Embed = Callable[[Images], np.ndarray]
SIDE = 64
FOLDERS = (
    "steel:crazing,patches,scratches",
    "xray:normal,pneumonia",
    "blood:platelet,red blood cells,single red blood cell,white blood cell",
    "machine:intact surface,pitting defect",
)


@dataclass(frozen=True)
class RealSet:
    """Real images, the class of each, int64 ``(n,)``, and the words of a prompt."""

    images: Images
    targets: np.ndarray
    domain: str
    labels: tuple[str, ...]


def real_sets() -> dict[str, RealSet]:
    """The sets that may be tuned on, of each kind one."""
    digits = load_digits()
    few = np.flatnonzero(np.isin(digits.target, (3, 5, 8)))
    scans = [framed(digits.images[i], 16.0) for i in few]
    targets = np.searchsorted((3, 5, 8), digits.target[few])
    found = {"digits 3/5/8": RealSet(scans, targets, "handwritten digit", ("digit 3", "digit 5", "digit 8"))}
    for name in FOLDERS:
        records = whole(name)
        images = [each for each in records.items if each is not None]
        found[SETS[name].title] = RealSet(images, records.targets, SETS[name].domain, records.labels)
    return found


def drawn_candidates(real: RealSet, count: int, cache: Path) -> list[Images]:
    """What the bundled model draws for each class's prompt: ``count`` images per class."""
    from benchmarks.selectors.local import bundled, recommended
    from pcevolve_server.generator import Recipe, Task

    made = []
    for label in real.labels:
        prompt = f"A {real.domain} image with {label}"
        recipe = f"{prompt}/{count}/{SIDE}/{_bundled_model()}"
        path = cache / f"{hashlib.sha256(recipe.encode()).hexdigest()[:16]}.npy"
        if not path.exists():
            model = bundled()
            advice = recommended(model)
            asked = Recipe(SIDE, SIDE, advice.steps, advice.guidance, strength=None)
            tasks = [Task(asked, prompt, "", seed, None) for seed in range(count)]
            pictures = [model.create(tasks[first : first + 8]) for first in range(0, count, 8)]
            np.save(path, np.stack([np.asarray(each.image) for batch in pictures for each in batch]))
        made.append([Image.fromarray(each) for each in np.load(path)])
    return made


def _bundled_model() -> str:
    """Digest of the bundled generator's UNet."""
    folder = Path(str(resources.files("pcevolve_server"))) / "bundled" / "unet"
    return hashlib.sha256((folder / "diffusion_pytorch_model.safetensors").read_bytes()).hexdigest()


def embedders() -> dict[str, Embed]:
    """The voter and the judges."""
    others = {name: look for name in ONNX if (look := other_eyes(name)) is not None}
    return {"voter": load_encoder("bundled").embed, **others}


def embedded(name: str, images: Images, embed: Embed, cache: Path) -> np.ndarray:
    """float64 ``(images, d)``, computed once for the same pixels and name."""
    digest = hashlib.sha256(f"{name}/{bundled_digest()}".encode())
    for image in images:
        digest.update(image.tobytes())
    path = cache / f"{digest.hexdigest()[:24]}.npy"
    if not path.exists():
        np.save(path, embed(images))
    return np.asarray(np.load(path))
