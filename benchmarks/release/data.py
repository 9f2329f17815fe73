"""The private sets of development, candidates for them, and what encoders and judges make of all of it; cached."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from pcevolve.encoders import load_encoder
from pcevolve.encoders.pixels import centre_square
from pcevolve.modality.images.scans import framed

Images = list[Image.Image]
Embed = Callable[[Images], np.ndarray]
SIDE, STEPS, GUIDANCE = 32, 12, 4.0


@dataclass(frozen=True)
class RealSet:
    """Real images, the class of each, int64 ``(n,)``, and the words of a prompt."""

    images: Images
    targets: np.ndarray
    domain: str
    labels: tuple[str, ...]


def real_sets(shared: Path) -> dict[str, RealSet]:
    """The sets that may be tuned on; of chest x-ray and blood smear the files that are reserved for it."""
    digits = load_digits()
    few = np.flatnonzero(np.isin(digits.target, (3, 5, 8)))
    scans = [framed(digits.images[i], 16.0) for i in few]
    targets = np.searchsorted((3, 5, 8), digits.target[few])
    public = shared / "public_images"
    return {
        "digits 3/5/8": RealSet(scans, targets, "handwritten digit", ("3", "5", "8")),
        "steel": _folders(shared / "steel_neu", "steel surface", ("crazing", "patches", "scratches")),
        "chest x-ray": _folders(public / "chest x-ray", "chest x-ray", reserved=True),
        "blood smear": _folders(public / "blood smear", "blood smear", reserved=True),
        "machine part": _folders(public / "sa" / "machine part surface", "machine part surface"),
    }


def _folders(root: Path, domain: str, labels: Iterable[str] = (), *, reserved: bool = False) -> RealSet:
    names = tuple(labels) or tuple(sorted(each.name for each in root.iterdir() if each.is_dir()))
    images, targets = [], []
    for target, name in enumerate(names):
        for path in sorted((root / name).glob("*.jpg")):
            if not reserved or int(path.stem) % 3 == 0:
                images.append(Image.open(path).convert("RGB"))
                targets.append(target)
    return RealSet(images, np.array(targets), domain, names)


def drawn_candidates(real: RealSet, count: int, cache: Path) -> list[Images]:
    """What the bundled model draws for each class's prompt: ``count`` images per class."""
    from pcevolve_server.diffusion.loading import load
    from pcevolve_server.generator import Recipe, Task
    from pcevolve_server.settings import ModelSettings

    made = []
    for label in real.labels:
        prompt = f"A {real.domain} image with {label}"
        path = cache / f"{hashlib.sha256(f'{prompt}/{count}/{STEPS}'.encode()).hexdigest()[:16]}.npy"
        if not path.exists():
            model = load(ModelSettings(model="bundled", device="cpu", offline=True), lambda rejected: None)
            recipe = Recipe(SIDE, SIDE, STEPS, GUIDANCE, strength=None)
            tasks = [Task(recipe, prompt, "", seed, None) for seed in range(count)]
            pictures = [model.create(tasks[first : first + 8]) for first in range(0, count, 8)]
            np.save(path, np.stack([np.asarray(each.image) for batch in pictures for each in batch]))
        made.append([Image.fromarray(each) for each in np.load(path)])
    return made


def onnx_embed(path: Path) -> Embed:
    """Features of a MobileNetV2 (RGB in -1..1) or a SqueezeNet (BGR less its mean), by the graph's input name."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    given = session.get_inputs()[0].name

    def one(image: Image.Image) -> np.ndarray:
        side = 224 if given == "rgb_pm1" else 227
        sized = centre_square(image).resize((side, side), Image.Resampling.BILINEAR)
        pixels = np.asarray(sized, np.float32)
        if given == "rgb_pm1":
            pixels = pixels / 127.5 - 1
        else:
            pixels = pixels[..., ::-1] - np.float32((103.939, 116.779, 123.68))
        row = session.run(None, {given: np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])})[0]
        return np.asarray(row, dtype=np.float64).reshape(-1)

    return lambda images: np.stack([one(image) for image in images])


def embedders(shared: Path) -> dict[str, Embed]:
    """The voter and the judges."""
    weights = shared / "weights"
    return {
        "voter": load_encoder("bundled").embed,
        "mobilenet": onnx_embed(weights / "mobilenet_v2_imagenet" / "mobilenet_v2_1.0_224.onnx"),
        "squeezenet": onnx_embed(weights / "squeezenet" / "squeezenet_v1.1_imagenet_notop.onnx"),
    }


def embedded(name: str, images: Images, embed: Embed, cache: Path) -> np.ndarray:
    """float64 ``(images, d)``, computed once for the same pixels and name."""
    digest = hashlib.sha256(name.encode())
    for image in images:
        digest.update(image.tobytes())
    path = cache / f"{digest.hexdigest()[:24]}.npy"
    if not path.exists():
        np.save(path, embed(images))
    return np.asarray(np.load(path))
