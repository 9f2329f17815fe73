"""Train the bundled encoder on a folder of rendered public images.

The folder comes from ``python api_server/training/render.py --out DIR --count 100000`` and holds
``images.npy`` and ``labels.json``. One linear head per target hangs on the embedding: content
(glyph, kind, defect, item), appearance (polarity, ink, ground, tone, stroke width, blur, grid) and
an 8x8 copy of the image. The heads are thrown away afterwards.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as tf

from pcevolve.encoders.bundled import EMBEDDING_SIZE, BundledNet

_IGNORED = -100
_LOOK = 64 + 7  # 8x8 grey cells; then mean R, G, B, contrast, stroke, blur, grid


class Targets:
    """The labels of every image as tensors, built once."""

    def __init__(self, facts: list[dict[str, Any]]) -> None:
        self.heads: dict[str, Tensor] = {}
        self.sizes: dict[str, int] = {}
        for family in ("glyph", "surface", "item"):
            self._add(family, [f["label"] if f["family"] == family else None for f in facts])
        for key in ("family", "kind"):
            self._add(key, [f[key] for f in facts])
        for key in ("ink", "ground", "light_on_dark"):
            self._add(key, [str(f[key]) if f["family"] != "surface" else None for f in facts])
        numbers = [(f["stroke"] * 10, f["blur"], math.log2(f["cells"]) - 5) for f in facts]
        self.numbers = torch.tensor(numbers, dtype=torch.float32)

    def _add(self, name: str, values: list[str | None]) -> None:
        known = sorted({v for v in values if v is not None})
        place = {v: i for i, v in enumerate(known)}
        self.heads[name] = torch.tensor([_IGNORED if v is None else place[v] for v in values])
        self.sizes[name] = len(known)


class Student(nn.Module):
    """The encoder with its temporary heads."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.encoder = BundledNet()
        self.heads = nn.ModuleDict({k: nn.Linear(EMBEDDING_SIZE, n) for k, n in sizes.items()})
        self.look = nn.Linear(EMBEDDING_SIZE, _LOOK)


def augment(images: Tensor, rng: np.random.Generator) -> Tensor:
    """Shift by up to 4 pixels and change contrast and brightness a little, per image."""
    dy, dx = rng.integers(-4, 5, 2)
    moved = tf.pad(images, (4, 4, 4, 4), mode="replicate")[:, :, 4 + dy : 68 + dy, 4 + dx : 68 + dx]
    count = len(images)
    gain = torch.from_numpy(rng.uniform(0.8, 1.1, (count, 1, 1, 1)).astype(np.float32))
    shift = torch.from_numpy(rng.uniform(-0.08, 0.08, (count, 1, 1, 1)).astype(np.float32))
    return ((moved - 0.5) * gain + 0.5 + shift).clamp(0, 1)


def appearance(images: Tensor, numbers: Tensor) -> Tensor:
    """Return the regression target, float32 ``(batch, 71)``."""
    grey = images.mean(1, keepdim=True)
    cells = tf.adaptive_avg_pool2d(grey, 8).flatten(1) * 2 - 1
    tones = images.mean((2, 3)) * 2 - 1
    contrast = grey.std((2, 3)) * 3
    return torch.cat((cells, tones, contrast, numbers), 1)


def loss_of(student: Student, images: Tensor, targets: Targets, rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """Return the weighted multi-task loss and the share of glyphs recognised."""
    with torch.autocast("cpu", torch.bfloat16):
        embedding = student.encoder(images)
    embedding = embedding.float()
    # A little noise and a size penalty keep the embedding compact and its scale meaningful.
    noisy = embedding + 0.3 * torch.randn_like(embedding)
    loss = tf.mse_loss(student.look(noisy), appearance(images, targets.numbers[rows])) * 8
    loss = loss + 0.01 * embedding.pow(2).mean()
    hits = torch.zeros(())
    for name, head in student.heads.items():
        wanted = targets.heads[name][rows]
        if not bool((wanted != _IGNORED).any()):
            continue
        logits = head(noisy)
        weight = 1.0 if name in ("glyph", "surface", "item") else 0.3
        loss = loss + weight * tf.cross_entropy(logits, wanted, ignore_index=_IGNORED)
        if name == "glyph":
            known = wanted != _IGNORED
            hits = (logits.argmax(1) == wanted)[known].float().mean()
    return loss, hits


def train(args: argparse.Namespace) -> Student:
    """Train within the time budget; resume from the checkpoint beside the weights."""
    images = np.load(args.data / "images.npy", mmap_mode="r")
    targets = Targets(json.loads((args.data / "labels.json").read_text()))
    student = Student(targets.sizes)
    print(f"encoder parameters: {sum(p.numel() for p in student.encoder.parameters()):,}")
    optimiser = torch.optim.AdamW(student.parameters(), lr=args.lr, weight_decay=0.02)
    step, before, checkpoint = 0, 0.0, args.out.with_suffix(".checkpoint.pt")
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        student.load_state_dict(state["student"])
        optimiser.load_state_dict(state["optimiser"])
        step, before = state["step"], state["spent_s"]
    rng, started, budget = np.random.default_rng([args.seed, step]), time.monotonic(), args.minutes * 60
    while (spent := before + time.monotonic() - started) < budget:
        share = spent / budget
        optimiser.param_groups[0]["lr"] = args.lr * min(
            share / 0.03 + 0.02, (1 + math.cos(math.pi * share)) / 2
        )
        rows = np.sort(rng.integers(len(images), size=args.batch))
        batch = torch.from_numpy(images[rows]).permute(0, 3, 1, 2).float() / 255
        loss, hits = loss_of(student, augment(batch, rng), targets, rows)
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(student.parameters(), 2.0)
        optimiser.step()
        step += 1
        if step % 50 == 0:
            left = (budget - spent) / 60
            print(
                f"step {step} loss {loss.item():.3f} glyphs {hits.item():.2f}, {left:.1f} min left",
                flush=True,
            )
        if step % 300 == 0:
            state = {"student": student.state_dict(), "optimiser": optimiser.state_dict()}
            torch.save({**state, "step": step, "spent_s": spent}, checkpoint)
    return student


@torch.no_grad()
def standardise(encoder: BundledNet, images: np.ndarray) -> None:
    """Scale the embedding so that its mean is 0 and its average variance is 1 on the material."""
    batch = torch.from_numpy(images[:2000]).permute(0, 3, 1, 2).float() / 255
    embedding = encoder(batch)
    mean, scale = embedding.mean(0), embedding.var(0).mean().sqrt()
    encoder.project.weight /= scale
    encoder.project.bias.copy_((encoder.project.bias - mean) / scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder written by render.py")
    parser.add_argument("--out", type=Path, required=True, help="the .safetensors file to write")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    encoder = train(args).encoder.eval()
    standardise(encoder, np.load(args.data / "images.npy", mmap_mode="r"))
    save_file({k: v.half().contiguous() for k, v in encoder.state_dict().items()}, args.out)


if __name__ == "__main__":
    main()
