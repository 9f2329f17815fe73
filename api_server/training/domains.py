"""Measure how well the generator draws its domains of photographs and the rendered surfaces, and what variations keep.

Distances (KID) and the readers of domains, labels, materials and defects use a MobileNetV2 that took no part in
training: an ONNX file from outside of this project, run by onnxruntime. All images are judged at 64 x 64.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import AutoencoderKL
from material import DEFECTS, MATERIALS
from material.captions import KEPT
from material.photographs import Photograph, load, plain_view, read_manifest, split
from material.surfaces import draw_surface
from PIL import Image
from torch import Tensor
from torch.nn import functional as tf

from pcevolve_shared.quiet import keep_quiet

Images = list[Image.Image]
Create = Callable[[list[str], int], Images]
Vary = Callable[[list[str], Images, float], Images]

ENCODER = Path("mobilenet_v2_imagenet") / "mobilenet_v2_1.0_224.onnx"
FEWEST_PHOTOGRAPHS = 20  # for a label to be asked for by name
MOST_PHOTOGRAPHS = 40  # of one label to train the readers on
SURFACES_EACH = 8  # rendered to train on, per material and defect
PROMPT = "A {} image with {}"
UNKNOWN = ("type A", "type B", "zorvani", "class 3")
KEPT_AT = (0.3, 0.4, 0.5, 0.6)  # strengths of variations, of which evolution makes use
BATCH = 32


class Encoder:
    """A pretrained network, seen as a function from images to 1,280 features."""

    def __init__(self, file: Path, threads: int) -> None:
        keep_quiet()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(str(file), options)

    def __call__(self, images: Images) -> Tensor:
        """Return float32 ``(images, 1280)``."""
        return torch.cat([self._batch(images[i : i + BATCH]) for i in range(0, len(images), BATCH)])

    def _batch(self, images: Images) -> Tensor:
        large = [np.asarray(image.resize((224, 224), Image.Resampling.BICUBIC)) for image in images]
        pixels = np.stack(large).transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
        return torch.from_numpy(self._session.run(["feature1280"], {"rgb_pm1": pixels})[0])


@torch.no_grad()
def reconstruct(vae: AutoencoderKL, images: Images) -> tuple[Images, float]:
    """Return what an autoencoder makes of images, and the mean peak signal-to-noise ratio in dB."""
    found: Images = []
    decibel: list[float] = []
    for start in range(0, len(images), BATCH):
        pixels = np.stack([np.asarray(image) for image in images[start : start + BATCH]])
        batch = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 127.5 - 1
        decoded = vae.decode(vae.encode(batch).latent_dist.mean).sample.clamp(-1, 1)
        error = (decoded - batch).square().mean((1, 2, 3)).clamp(min=1e-6)
        decibel += (10 * torch.log10(4 / error)).tolist()
        back = ((decoded + 1) * 127.5).round().byte().permute(0, 2, 3, 1).numpy()
        found += [Image.fromarray(pixels) for pixels in back]
    return found, float(np.mean(decibel))


def measure_autoencoder(vae: AutoencoderKL, encoder: Encoder, reference: Reference) -> dict[str, Any]:
    """Return how much of each domain's held-back images the autoencoder keeps: a bound for what is drawn."""
    rows: dict[str, Any] = {}
    for domain in reference.domains:
        back, decibel = reconstruct(vae, reference.images(domain))
        rows[domain] = {"PSNR": decibel, "KID": kernel_distance(encoder(back), reference.rows(domain))}
    return {"autoencoder": rows, "autoencoder, mean": _means(rows)}


@dataclass(frozen=True)
class Reader:
    """A linear head on the encoder's features."""

    names: list[str]
    weight: Tensor
    bias: Tensor
    centre: Tensor
    scale: Tensor

    def logits(self, features: Tensor) -> Tensor:
        """Return float32 ``(images, names)``."""
        return ((features - self.centre) / self.scale) @ self.weight.T + self.bias

    def read(self, features: Tensor, among: Sequence[str] | None = None) -> list[str]:
        """Return the likeliest name of each image, of all names or among some."""
        allowed = list(self.names if among is None else among)
        columns = [self.names.index(name) for name in allowed]
        return [allowed[i] for i in self.logits(features)[:, columns].argmax(1).tolist()]


def fit_reader(features: Tensor, names: list[str], decay: float = 1e-3) -> Reader:
    """Fit multinomial logistic regression with equal weight for every name."""
    known = sorted(set(names))
    targets = torch.tensor([known.index(name) for name in names])
    centre, scale = features.mean(0), features.std(0) + 1e-3
    inputs = (features - centre) / scale
    counts = torch.bincount(targets).float()
    weights = counts.sum() / (len(known) * counts)
    weight = torch.zeros(len(known), features.shape[1], requires_grad=True)
    bias = torch.zeros(len(known), requires_grad=True)
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=60, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = tf.cross_entropy(inputs @ weight.T + bias, targets, weights) + decay * weight.square().sum()
        torch.autograd.backward(loss)
        return loss

    with torch.enable_grad():
        optimiser.step(closure)
    return Reader(known, weight.detach(), bias.detach(), centre, scale)


def kernel_distance(first: Tensor, second: Tensor) -> float:
    """Return the unbiased squared MMD under the cubic kernel of KID (Binkowski et al. 2018), times 1,000."""
    a, b = first.double(), second.double()
    within = sum(
        float((k.sum() - k.diagonal().sum()) / (len(x) * (len(x) - 1)))
        for x, k in ((x, (x @ x.T / x.shape[1] + 1) ** 3) for x in (a, b))
    )
    return 1000 * (within - 2 * float(((a @ b.T / a.shape[1] + 1) ** 3).mean()))


def frechet_distance(first: Tensor, second: Tensor) -> float:
    """Return the Frechet distance of Gaussian fits (FID, with this encoder's features)."""
    a, b = first.double(), second.double()
    ca, cb = torch.cov(a.T), torch.cov(b.T)
    values, vectors = torch.linalg.eigh(ca)
    root = vectors * values.clamp(min=0).sqrt() @ vectors.T
    cross = torch.linalg.eigvalsh(root @ cb @ root).clamp(min=0).sqrt().sum()
    return float((a.mean(0) - b.mean(0)).square().sum() + ca.trace() + cb.trace() - 2 * cross)


def standard_error(share: float, count: int) -> float:
    """Return the standard error of a share."""
    return float(np.sqrt(share * (1 - share) / max(count, 1)))


@dataclass(frozen=True)
class Reference:
    """Real images by domain: features of training photographs, for the readers, and of held-back ones."""

    public: Path
    training: list[Photograph]
    training_features: Tensor
    held: list[Photograph]
    held_features: Tensor

    @classmethod
    def of(cls, public: Path, encoder: Encoder, cache: Path | None) -> Reference:
        """Encode what the readers and distances need, or take it from the cache file."""
        training, held = split(read_manifest(public))
        training = _bound(training)
        if cache and cache.exists():
            known = torch.load(cache, weights_only=True)
            return cls(public, training, known["training"], held, known["held"])
        features = [encoder([plain_view(load(public, p)) for p in part]) for part in (training, held)]
        if cache:
            torch.save({"training": features[0], "held": features[1]}, cache)
        return cls(public, training, features[0], held, features[1])

    def images(self, domain: str, held: bool = True) -> Images:
        """Return one domain's images."""
        chosen = self.held if held else self.training
        return [plain_view(load(self.public, p)) for p in chosen if p.domain == domain]

    @property
    def domains(self) -> list[str]:
        """Those that the model keeps; the reader knows the others, too."""
        return sorted({photograph.domain for photograph in self.held} & set(KEPT))

    def rows(self, domain: str, held: bool = True) -> Tensor:
        """Return one domain's features."""
        chosen, features = (
            (self.held, self.held_features) if held else (self.training, self.training_features)
        )
        return features[[i for i, p in enumerate(chosen) if p.domain == domain]]

    def labels(self, domain: str) -> list[str]:
        """Return the labels of a domain that have enough photographs to be asked for by name."""
        counts = Counter(p.label for p in self.training if p.domain == domain)
        return sorted(label for label, count in counts.items() if count >= FEWEST_PHOTOGRAPHS)


def _bound(photographs: list[Photograph]) -> list[Photograph]:
    seen = Counter[tuple[str, str]]()
    found = []
    for photograph in photographs:
        key = (photograph.domain, photograph.label)
        seen[key] += 1
        if seen[key] <= MOST_PHOTOGRAPHS:
            found.append(photograph)
    return found


def measure_domains(
    create: Create, vary: Vary, vae: AutoencoderKL, encoder: Encoder, reference: Reference, each: int
) -> dict[str, Any]:
    """Return distances, prompt following and what variations keep of every domain, and their means.

    Labels are read by a reader that learnt from real images and from the same after the autoencoder: one of sharp
    images alone calls every X-ray that went through it pneumonia, and is worse on real ones, too.

    Args:
        create: Draws one image for each prompt, given a seed.
        vary: Draws one variation of each image, given prompts and a strength.
        vae: The model's.
        encoder: Gives features of images.
        reference: Real images.
        each: Images to draw per domain with labels, and with labels that mean nothing.
    """
    reader = fit_reader(reference.training_features, [p.domain for p in reference.training])
    rows: dict[str, Any] = {}
    pooled: list[tuple[Tensor, Tensor]] = []
    for number, domain in enumerate(reference.domains):
        named = reference.labels(domain)
        pool = named or [p.label for p in reference.held if p.domain == domain]
        asked = [pool[i % len(pool)] for i in range(each)]
        drawn = encoder(create([PROMPT.format(domain, label) for label in asked], 100 + number))
        unknown = [PROMPT.format(domain, UNKNOWN[i % len(UNKNOWN)]) for i in range(each)]
        pictures = create(unknown, 500 + number)
        marginal = encoder(pictures)
        real, known = reference.rows(domain), reference.rows(domain, held=False)
        rows[domain] = {
            "held back": len(real),
            "KID": kernel_distance(drawn, real),
            "KID of training photographs": kernel_distance(known, real),
            "domain read": _share(reader.read(drawn), domain),
            "domain read, real": _share(reader.read(real), domain),
            "unknown label, domain read": _share(reader.read(marginal), domain),
            "unknown label, KID": kernel_distance(marginal, real),
            "unknown label, spread": _spread(marginal) / _spread(real),
        }
        if len(named) > 1:
            labels = _reader_of_labels(vae, encoder, reference, domain, named)
            rows[domain] |= _labels_read(labels, reference, domain, named, drawn, asked)
            read = labels.read(marginal)
            rows[domain] |= {"unknown label, kinds": effective(read), "unknown label, read as": Counter(read)}
            rows[domain] |= measure_kept(vary, unknown, pictures, lambda images: labels.read(encoder(images)))  # noqa: B023
        pooled.append((drawn, real[:each]))
        print(domain, rows[domain], file=sys.stderr, flush=True)
    drawn, real = (torch.cat(part) for part in zip(*pooled, strict=True))
    return {
        "domains": rows,
        "mean": _means(rows),
        # One figure for all: a covariance of 1,280 features needs more images than one domain has.
        "FID, all domains": frechet_distance(drawn, real),
        "images per figure": each,
    }


def _share(read: list[str], wanted: str) -> float:
    return float(np.mean([name == wanted for name in read]))


def _spread(features: Tensor) -> float:
    """Return the root mean square distance to the mean."""
    return float((features - features.mean(0)).square().sum(1).mean().sqrt())


def measure_kept(
    vary: Vary, prompts: list[str], pictures: Images, read: Callable[[Images], list[str]]
) -> dict[str, float]:
    """Return which share of variations under the pictures' own prompts is read as the pictures are.

    And how far beyond chance (Cohen's kappa, 1 at most): a model that draws one kind alone returns to it however
    little it keeps. NaN where all is read alike.
    """
    before = read(pictures)
    result: dict[str, float] = {}
    for strength in KEPT_AT:
        after = read(vary(prompts, pictures, strength))
        share = float(np.mean([a == b for a, b in zip(before, after, strict=True)]))
        chance = sum(before.count(name) * after.count(name) for name in set(before)) / len(before) ** 2
        result[f"kept at {strength:g}"] = share
        result[f"kept at {strength:g}, kappa"] = (
            (share - chance) / (1 - chance) if chance < 1 else float("nan")
        )
    return result


def effective(read: Sequence[str]) -> float:
    """Return as how many equally frequent names a list is varied: the exponential of its entropy."""
    shares = np.array(list(Counter(read).values())) / len(read)
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _reader_of_labels(
    vae: AutoencoderKL, encoder: Encoder, reference: Reference, domain: str, named: list[str]
) -> Reader:
    names = [p.label for p in reference.training if p.domain == domain]
    back, _ = reconstruct(vae, reference.images(domain, held=False))
    features = torch.cat([reference.rows(domain, held=False), encoder(back)])
    members = [i for i, name in enumerate(2 * names) if name in named]
    return fit_reader(features[members], [(2 * names)[i] for i in members], decay=1e-2)


def _labels_read(
    reader: Reader, reference: Reference, domain: str, named: list[str], drawn: Tensor, asked: list[str]
) -> dict[str, Any]:
    """Return how often labels are read as asked, among the domain's frequent labels."""
    held = [i for i, p in enumerate(reference.held) if p.domain == domain and p.label in named]
    wanted = [reference.held[i].label for i in held]
    real = reader.read(reference.held_features[held])
    return {
        "labels": len(named),
        "label ranked": rank(reader.logits(drawn), reader.names, asked),
        "label ranked, real": rank(reader.logits(reference.held_features[held]), reader.names, wanted),
        "label read": float(np.mean([r == a for r, a in zip(reader.read(drawn), asked, strict=True)])),
        "label read, real": float(np.mean([r == w for r, w in zip(real, wanted, strict=True)])),
    }


def rank(logits: Tensor, names: Sequence[str], asked: Sequence[str]) -> float:
    """Return how often an image looks more like its label than one of another label does: 0.5 is chance.

    The mean area under the curve of one label against the rest. A reader of sharp photographs may call all soft ones
    the same and yet tell them apart.
    """
    areas = []
    for place, name in enumerate(names):
        others = logits[:, [k for k in range(len(names)) if k != place]].amax(1)
        margin = logits[:, place] - others
        own = torch.tensor([each == name for each in asked])
        areas.append(float((margin[own][:, None] > margin[~own][None]).float().mean()))
    return float(np.mean(areas))


def _means(rows: dict[str, Any]) -> dict[str, float]:
    keys = dict.fromkeys(key for row in rows.values() for key, value in row.items() if np.isscalar(value))
    return {key: float(np.mean([row[key] for row in rows.values() if key in row])) for key in keys}


def measure_surfaces(
    create: Create, vary: Vary, vae: AutoencoderKL, encoder: Encoder, each: int
) -> dict[str, Any]:
    """Return how often material and defect of a drawn surface are read as asked, beside fresh renderings.

    And how varied defects are under a label that means nothing, and whether variations keep them. Readers learn as
    for domains: from renderings, and from the same after the autoencoder.
    """
    rng = np.random.default_rng(5)
    pairs = [(m, d) for m in MATERIALS for d in DEFECTS]
    known = [pair for pair in pairs for _ in range(SURFACES_EACH)]
    shown = [draw_surface(rng, *pair).image for pair in known]
    features = encoder([*shown, *reconstruct(vae, shown)[0]])
    fresh = [pair for pair in pairs for _ in range(2)]
    rendered = encoder([draw_surface(rng, *pair).image for pair in fresh])
    asked = [pair for pair in pairs for _ in range(each)]
    prompts = [f"A {m} texture image with {'no' if d == 'good' else d} defect" for m, d in asked]
    drawn = encoder(create(prompts, 900))
    result: dict[str, Any] = {"KID": kernel_distance(drawn, rendered), "images": len(asked)}
    unknown = [
        f"A {m} texture image with {UNKNOWN[k % len(UNKNOWN)]}" for m in MATERIALS for k in range(7 * each)
    ]
    pictures = create(unknown, 950)
    for place, name in enumerate(("material", "defect")):
        reader = fit_reader(features, [pair[place] for pair in 2 * known], decay=1e-2)
        for title, found, wanted in (("", drawn, asked), (", rendered", rendered, fresh)):
            hits = [r == w[place] for r, w in zip(reader.read(found), wanted, strict=True)]
            result[f"{name} read{title}"] = float(np.mean(hits))
        share = result[f"{name} read"]
        result[f"{name} read, standard error"] = standard_error(share, len(asked))
    result["unknown label, kinds"] = effective(reader.read(encoder(pictures)))
    return result | measure_kept(vary, unknown, pictures, lambda images: reader.read(encoder(images)))


def sheet(create: Create, domains: list[str], labels: dict[str, list[str]], columns: int = 10) -> Image.Image:
    """Draw one row of samples per domain: labels it knows, the last two with a label that means nothing."""
    from PIL import ImageDraw

    side, title = 64, 110
    page = Image.new("RGB", (title + columns * (side + 2), len(domains) * (side + 2)), "white")
    pen = ImageDraw.Draw(page)
    for row, domain in enumerate(domains):
        known = labels[domain]
        asked = [known[i % len(known)] for i in range(columns - 2)] + ["type A", "type A"]
        pen.text((2, row * (side + 2) + 26), domain.replace(" ", "\n", 1), fill="black")
        for column, image in enumerate(create([PROMPT.format(domain, label) for label in asked], row)):
            page.paste(image, (title + column * (side + 2), row * (side + 2)))
    return page
