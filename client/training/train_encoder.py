"""Train the bundled encoder on public photographs and on rendered images.

``--public`` is a folder written by ``public_images.py``, ``--rendered`` one written by
``python api_server/training/render.py --out DIR --count 30000``. Every step takes two views of some photographs and
one of some rendered images. On the embedding hang, and are thrown away afterwards:

- contrast: two views of a photograph are nearer to each other than to those of other photographs, and so are
  photographs of one label (SupCon; Khosla et al. 2020). Views differ in place, size and a little in tone; colour
  stays, for it may be all that tells two private classes apart;
- words: a linear head over domains and one over labels with at least five images;
- content and appearance of rendered images: glyph, defect, item, material, polarity, ink, ground, stroke, blur, grid;
- look: thumbnail, spread of colour and fineness of each view itself.

Time is processor time of this process, so that a pause costs nothing; the learning rate is a cosine of its share.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from network import BundledNet
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as tf

from pcevolve.public.encoders.bundled import EMBEDDING_SIZE

_IGNORED = -100
_LEAST_IMAGES = 5  # of a label that has an output of its own
_PROJECTED = 128
_TEMPERATURE = 0.15
_NOISE = 0.3  # standard deviations added to an embedding whose average variance is meant to be 1
_NUMBERS = 3  # stroke, blur, grid of a rendered image
_LOOK = 64 + 48 + 3 + 3  # 8x8 grey cells, 4x4 colour cells, spread of R, G, B, fineness at three scales
_MICROSCOPY = frozenset(
    {"blood smear", "fluorescence microscopy", "histology", "cytology", "electron microscopy"}
)
TURNED = _MICROSCOPY | {"satellite image", "texture", "fabric", "metal"}
"""Domains in which up and down mean nothing."""


def places(values: list[str | None]) -> tuple[Tensor, int]:
    """Class of every value, int64 ``(n,)``, and how many there are; None is ignored by the loss."""
    known = {value: place for place, value in enumerate(sorted({v for v in values if v is not None}))}
    return torch.tensor([_IGNORED if v is None else known[v] for v in values]), len(known)


class Photographs:
    """Public photographs with their words; drawn by the square root of their domain's size."""

    def __init__(self, folder: Path) -> None:
        self.images = np.load(folder / "images.npy", mmap_mode="r")
        words: list[tuple[str, str]] = [(d, w) for d, w in json.loads((folder / "labels.json").read_text())]
        counts, domains = Counter(words), Counter(domain for domain, _ in words)
        frequent = [f"{d}/{w}" if counts[d, w] >= _LEAST_IMAGES else None for d, w in words]
        self.heads = {"domain": places([d for d, _ in words]), "word": places(frequent)}
        self.turned = np.array([d in TURNED for d, _ in words])
        weight = np.array([domains[d] ** -0.5 for d, _ in words])
        self.chance = weight / weight.sum()

    def view(self, row: int, side: int, rng: np.random.Generator) -> np.ndarray:
        """A crop of one photograph, uint8 ``(side, side, 3)``, flipped and turned where that changes nothing."""
        image = Image.fromarray(self.images[row])
        share, aspect = math.sqrt(rng.uniform(0.3, 1.0)), math.exp(rng.uniform(-0.15, 0.15) / 2)
        wide, high = (min(1.0, share * f) * image.width for f in (aspect, 1 / aspect))
        left, top = rng.uniform(0, image.width - wide), rng.uniform(0, image.height - high)
        box = (left, top, left + wide, top + high)
        if rng.random() < 0.12:  # private images may be small
            image, box = image.resize((int(rng.integers(12, 48)),) * 2, Image.Resampling.BILINEAR, box), None
        view = np.asarray(image.resize((side, side), Image.Resampling.BILINEAR, box))
        if rng.random() < 0.5:
            view = view[:, ::-1]
        return np.rot90(view, int(rng.integers(4))) if self.turned[row] else view


class Rendered:
    """Rendered images with their facts."""

    def __init__(self, folder: Path) -> None:
        self.images = np.load(folder / "images.npy", mmap_mode="r")
        facts: list[dict[str, Any]] = json.loads((folder / "labels.json").read_text())
        self.heads = {
            family: places([f["label"] if f["family"] == family else None for f in facts])
            for family in ("glyph", "surface", "item")
        }
        self.heads |= {key: places([f[key] for f in facts]) for key in ("family", "kind")}
        for key in ("ink", "ground", "light_on_dark"):
            self.heads[key] = places([str(f[key]) if f["family"] != "surface" else None for f in facts])
        numbers = [(f["stroke"] * 10, f["blur"], math.log2(f["cells"]) - 5) for f in facts]
        self.numbers = torch.tensor(numbers, dtype=torch.float32)


class Student(nn.Module):
    """The encoder with its temporary heads."""

    def __init__(self, photographs: Photographs, rendered: Rendered) -> None:
        super().__init__()
        self.encoder = BundledNet()
        sizes = {
            name: size for heads in (photographs.heads, rendered.heads) for name, (_, size) in heads.items()
        }
        self.heads = nn.ModuleDict({name: nn.Linear(EMBEDDING_SIZE, size) for name, size in sizes.items()})
        self.look = nn.Linear(EMBEDDING_SIZE, _LOOK)
        self.numbers = nn.Linear(EMBEDDING_SIZE, _NUMBERS)
        self.contrast = nn.Sequential(
            nn.Linear(EMBEDDING_SIZE, EMBEDDING_SIZE), nn.SiLU(), nn.Linear(EMBEDDING_SIZE, _PROJECTED)
        )


@dataclass(frozen=True)
class Batch:
    """One step's images: two views of each photograph, then rendered images.

    Attributes:
        pixels: float32 ``(2 * photographs + rendered, 3, side, side)`` in 0..1.
        photographs: Rows of the photographs.
        rendered: Rows of the rendered images.
    """

    pixels: Tensor
    photographs: np.ndarray
    rendered: np.ndarray


def as_pixels(images: np.ndarray) -> Tensor:
    """float32 ``(n, 3, side, side)`` in 0..1 of uint8 ``(n, side, side, 3)``."""
    return torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2).float() / 255


def move(images: Tensor, rng: np.random.Generator) -> Tensor:
    """Rendered images shifted by up to 4 pixels, all alike."""
    (dy, dx), side = rng.integers(0, 9, 2), images.shape[-1]
    return tf.pad(images, (4, 4, 4, 4), mode="replicate")[:, :, dy : side + dy, dx : side + dx]


def tone(images: Tensor, rng: np.random.Generator) -> Tensor:
    """Contrast and brightness changed a little for each image, and each colour by a trace."""
    count = len(images)
    gain = rng.uniform(0.8, 1.15, (count, 1, 1, 1)) * rng.uniform(0.97, 1.03, (count, 3, 1, 1))
    shift = rng.uniform(-0.07, 0.07, (count, 1, 1, 1))
    changed = (images - 0.5) * torch.from_numpy(gain).float() + 0.5 + torch.from_numpy(shift).float()
    return changed.clamp(0, 1)


def draw(
    photographs: Photographs, rendered: Rendered, counts: tuple[int, int], side: int, rng: np.random.Generator
) -> Batch:
    """Draw a batch of ``counts`` photographs and rendered images."""
    rows = rng.choice(len(photographs.images), counts[0], p=photographs.chance)
    others = np.sort(rng.integers(len(rendered.images), size=counts[1]))
    views = np.stack([photographs.view(row, side, rng) for row in np.concatenate([rows, rows])])
    shown = move(as_pixels(rendered.images[others]), rng)
    if side != shown.shape[-1]:
        shown = tf.interpolate(shown, size=side, mode="bilinear", antialias=True)
    return Batch(tone(torch.cat([as_pixels(views), shown]), rng), rows, others)


def look_of(images: Tensor) -> Tensor:
    """Everything a view shows at a glance: float32 ``(batch, 118)``; see ``_LOOK``."""
    grey = images.mean(1, keepdim=True)
    fineness = []
    for _ in range(3):
        steps = (grey.diff(dim=2).abs().mean((2, 3)), grey.diff(dim=3).abs().mean((2, 3)))
        fineness.append(((steps[0] + steps[1]) / 2 + 1e-3).log() / 2 + 1.5)
        grey = tf.avg_pool2d(grey, 2)
    cells = tf.adaptive_avg_pool2d(images.mean(1, keepdim=True), 8).flatten(1) * 2 - 1
    thumbnail = tf.adaptive_avg_pool2d(images, 4).flatten(1) * 2 - 1
    return torch.cat((cells, thumbnail, images.std((2, 3)) * 3, *fineness), 1)


def contrast(points: Tensor, words: Tensor) -> Tensor:
    """Supervised contrastive loss of two views of each photograph, float32 ``(2n, d)``; labels int64 ``(n,)``."""
    points, count = tf.normalize(points, dim=1), len(words)
    alike = points @ points.T / _TEMPERATURE
    alike = alike.masked_fill(torch.eye(2 * count, dtype=torch.bool), -1e9)
    of = torch.cat([words, words])
    same = (of[:, None] == of[None]) & (of[:, None] != _IGNORED)
    own = torch.eye(count).repeat(2, 2)  # the other view counts as much as all of the same label
    kin = own + 0.5 * (same.float() - own).clamp(min=0)
    kin = kin * (1 - torch.eye(2 * count))
    return -(kin * alike.log_softmax(1)).sum(1).div(kin.sum(1)).mean()


def loss_of(
    student: Student, batch: Batch, photographs: Photographs, rendered: Rendered
) -> dict[str, Tensor]:
    """Every part of the loss, weighted, and ``glyphs``: the share of glyphs that were recognised."""
    embedding = student.encoder(batch.pixels.to(memory_format=torch.channels_last))
    twice = 2 * len(batch.photographs)
    noisy = embedding + _NOISE * torch.randn_like(embedding)
    words = photographs.heads["word"][0][batch.photographs]
    parts = {
        "contrast": contrast(student.contrast(embedding[:twice]), words),
        "look": tf.mse_loss(student.look(noisy), look_of(batch.pixels)) * 6,
        "numbers": tf.mse_loss(student.numbers(noisy[twice:]), rendered.numbers[batch.rendered]),
        "size": 0.01 * embedding.pow(2).mean(),
    }
    for name, (labels, _) in photographs.heads.items():
        logits, wanted = student.heads[name](noisy[:twice]), labels[np.tile(batch.photographs, 2)]
        weight = 1.0 if name == "word" else 0.5
        parts[name] = weight * tf.cross_entropy(logits, wanted, ignore_index=_IGNORED, label_smoothing=0.05)
    for name, (labels, _) in rendered.heads.items():
        logits, wanted = student.heads[name](noisy[twice:]), labels[batch.rendered]
        if not bool((wanted != _IGNORED).any()):
            continue
        weight = 1.0 if name in ("glyph", "surface", "item") else 0.2
        parts[name] = weight * tf.cross_entropy(logits, wanted, ignore_index=_IGNORED)
        if name == "glyph":
            known = wanted != _IGNORED
            parts["glyphs"] = (logits.argmax(1) == wanted)[known].float().mean().detach()
    return parts


def warm(encoder: BundledNet, state: dict[str, Tensor]) -> None:
    """Start from an earlier encoder: its convolutions, and its embedding as the first entries of the new one.

    Args:
        encoder: Changed in place.
        state: Of a network with the same stages, whose projection read the first of the parts that are read now.
    """
    own = encoder.state_dict()
    for name, value in state.items():
        part = own[name]
        part[tuple(slice(size) for size in value.shape)] = value.float()
    encoder.load_state_dict(own)


def learning_rate(share: float, most: float) -> float:
    """Warm up, then a cosine down to nothing."""
    return most * min(share / 0.02 + 0.02, 0.01 + (1 + math.cos(math.pi * min(share, 1.0))) / 2)


def train(args: argparse.Namespace) -> Student:
    """Train within the budget of processor time; resume from the checkpoint beside the weights."""
    photographs, rendered = Photographs(args.public), Rendered(args.rendered)
    student = Student(photographs, rendered)
    if args.start is not None:
        warm(student.encoder, load_file(args.start))
    student.encoder.to(memory_format=torch.channels_last)
    print(f"encoder parameters: {sum(p.numel() for p in student.encoder.parameters()):,}", flush=True)
    optimiser = torch.optim.AdamW(student.parameters(), lr=args.lr, weight_decay=0.03)
    step, before, checkpoint = 0, 0.0, args.out.with_suffix(".checkpoint.pt")
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        student.load_state_dict(state["student"])
        optimiser.load_state_dict(state["optimiser"])
        step, before = state["step"], state["spent_s"]
    rng, started, budget = np.random.default_rng([args.seed, step]), time.process_time(), args.minutes * 60
    seen: Counter[str] = Counter()
    while (spent := before + time.process_time() - started) < budget:
        share = spent / budget
        optimiser.param_groups[0]["lr"] = learning_rate(share, args.lr)
        counts = (args.photographs, args.rendered_images)
        batch = draw(photographs, rendered, counts, args.side, rng)
        parts = loss_of(student, batch, photographs, rendered)
        glyphs = parts.pop("glyphs", torch.zeros(()))
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(torch.stack(list(parts.values())).sum())
        torch.nn.utils.clip_grad_norm_(student.parameters(), 2.0)
        optimiser.step()
        step += 1
        seen.update({name: part.item() for name, part in parts.items()} | {"glyphs": glyphs.item()})
        if step % 25 == 0:
            told = " ".join(f"{name} {total / 25:.2f}" for name, total in seen.items())
            print(f"step {step} {told}, {(budget - spent) / 60:.1f} min left", flush=True)
            seen.clear()
        if step % 100 == 0:
            state = {"student": student.state_dict(), "optimiser": optimiser.state_dict()}
            torch.save({**state, "step": step, "spent_s": spent}, checkpoint.with_suffix(".part"))
            checkpoint.with_suffix(".part").rename(checkpoint)
    state = {"student": student.state_dict(), "optimiser": optimiser.state_dict()}
    torch.save({**state, "step": step, "spent_s": spent}, checkpoint)
    return student


@torch.no_grad()
def standardise(encoder: BundledNet, images: Tensor) -> None:
    """Scale the embedding so that its mean is 0 and its average variance is 1 on training material.

    Args:
        encoder: Changed in place.
        images: float32 ``(n, 3, side, side)`` in 0..1.
    """
    embedding = torch.cat([encoder(part) for part in images.split(64)])
    mean, scale = embedding.mean(0), embedding.var(0).mean().sqrt()
    encoder.project.weight /= scale
    encoder.project.bias.copy_((encoder.project.bias - mean) / scale)


def material(args: argparse.Namespace, count: int) -> Tensor:
    """Photographs and, one for four of them, rendered images, as the encoder is shown them."""
    rng, images = np.random.default_rng(args.seed), []
    for folder, some in ((args.public, count), (args.rendered, count // 4)):
        stored = np.load(folder / "images.npy", mmap_mode="r")
        for row in np.sort(rng.choice(len(stored), some, replace=False)):
            image = Image.fromarray(stored[row])
            images.append(np.asarray(image.resize((args.side, args.side), Image.Resampling.BILINEAR)))
    return as_pixels(np.stack(images))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--public", type=Path, required=True, help="folder written by public_images.py")
    parser.add_argument("--rendered", type=Path, required=True, help="folder written by render.py")
    parser.add_argument("--out", type=Path, required=True, help="the .safetensors file to write")
    parser.add_argument("--start", type=Path, help="weights of an earlier encoder to start from")
    parser.add_argument("--minutes", type=float, default=30.0, help="processor time, all sessions together")
    parser.add_argument("--photographs", type=int, default=24, help="per step, two views of each")
    parser.add_argument("--rendered-images", type=int, default=16, help="per step")
    parser.add_argument("--side", type=int, default=64, help="pixels, as embedded")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    encoder = train(args).encoder.eval()
    standardise(encoder, material(args, 1000))
    save_file({k: v.half().contiguous() for k, v in encoder.state_dict().items()}, args.out)


if __name__ == "__main__":
    main()
