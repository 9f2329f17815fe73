"""The private sets of development, candidates for them, and what encoders and judges make of all of it; cached."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.stats import t as student

from benchmarks.judges import ONNX, Look, load_onnx
from benchmarks.private_sets import available, whole
from benchmarks.split import SETS
from pcevolve.public.dp.calibration import smallest_noise_multiplier
from pcevolve.public.encoders import bundled_digest, load_encoder
from pcevolve.public.privacy import Budget, Event, Events
from pcevolve.public.selectors.rounds import pay_for_centre

Images = list[Image.Image]
SIDE = 64
ONE_OF_EACH_KIND = (
    "digits:3,5,8",
    "steel:crazing,patches,scratches",
    "xray:normal,pneumonia",
    "blood:platelet,red blood cells,single red blood cell,white blood cell",
    "machine:intact surface,pitting defect",
)
"""Sets that may be tuned on."""
PER_CLASS = 150


@dataclass(frozen=True)
class RealSet:
    """Real images, the class of each, int64 ``(n,)``, and the words of a prompt."""

    images: Images
    targets: np.ndarray
    domain: str
    labels: tuple[str, ...]


def list_real_sets() -> dict[str, RealSet]:
    """The sets that may be tuned on, of each kind one, by title."""
    return {SETS[name].title: load_real_set(name) for name in ONE_OF_EACH_KIND}


def list_development_sets(names: Iterable[str]) -> dict[str, RealSet]:
    """Sets by their names in ``benchmarks.split``, at most ``PER_CLASS`` images of a class; those that are here."""
    return {name: load_real_set(name, PER_CLASS) for name in filter(available, names)}


def load_real_set(name: str, most: int | None = None) -> RealSet:
    """One set; of each class at most ``most`` images, the same in every run."""
    records = whole(name)
    random, classes = np.random.default_rng(0), range(len(records.labels))
    kept = np.concatenate([random.permutation(np.flatnonzero(records.targets == c))[:most] for c in classes])
    images = [each for row in kept if (each := records.items[row]) is not None]
    return RealSet(images, records.targets[kept], SETS[name].domain, records.labels)


def draw_candidates(real: RealSet, count: int, cache: Path) -> list[Images]:
    """Draw by the bundled model for each class's prompt: ``count`` images per class."""
    from benchmarks.selectors.local import load_model, recommend
    from pcevolve_server.work import Recipe, Task

    made = []
    for label in real.labels:
        prompt = f"A {real.domain} image with {label}"
        recipe = f"{prompt}/{count}/{SIDE}/{_digest_bundled_model()}"
        path = cache / f"{hashlib.sha256(recipe.encode()).hexdigest()[:16]}.npy"
        if not path.exists():
            model = load_model("bundled")
            advice = recommend(model)
            asked = Recipe(SIDE, SIDE, advice.steps, advice.guidance, strength=None)
            tasks = [Task(asked, prompt, "", seed, None) for seed in range(count)]
            pictures = [model.create(tasks[first : first + 8]) for first in range(0, count, 8)]
            np.save(path, np.stack([np.asarray(each.image) for batch in pictures for each in batch]))
        made.append([Image.fromarray(each) for each in np.load(path)])
    return made


def _digest_bundled_model() -> str:
    """Digest of the bundled generator's weights."""
    folder = Path(str(resources.files("pcevolve_server"))) / "bundled"
    files = sorted(folder.glob("*/*.safetensors"))
    return hashlib.sha256(b"".join(hashlib.sha256(each.read_bytes()).digest() for each in files)).hexdigest()


def weights() -> str:
    """Names what candidates and the voter's embeddings were made with: digest of the bundled models."""
    return hashlib.sha256(f"{_digest_bundled_model()}/{bundled_digest()}".encode()).hexdigest()[:12]


def embedders() -> dict[str, Look]:
    """The voter and the judges."""
    others = {name: look for name in ONNX if (look := load_onnx(name)) is not None}
    return {"voter": load_encoder("bundled").embed, **others}


def embed_once(name: str, images: Images, embed: Look, cache: Path) -> np.ndarray:
    """float64 ``(images, d)``, computed once for the same pixels and name."""
    digest = hashlib.sha256(f"{name}/{bundled_digest()}".encode())
    for image in images:
        digest.update(image.tobytes())
    path = cache / f"{digest.hexdigest()[:24]}.npy"
    if not path.exists():
        np.save(path, embed(images))
    return np.asarray(np.load(path))


SHOTS = 10
AT_ONCE: Events = (Event("gaussian", str(smallest_noise_multiplier(Budget(Fraction(10), 1e-5), 1))),)
CENTRE_FIRST: Events = pay_for_centre((AT_ONCE,))[0]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval, by Student's t."""
    error = np.std(values, ddof=1) / len(values) ** 0.5
    return float(np.mean(values)), float(student.ppf(0.975, len(values) - 1) * error)
