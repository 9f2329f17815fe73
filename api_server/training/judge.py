"""A small CNN that reads glyphs, used only to measure how well the generator follows prompts."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from material import CHARACTERS
from material.glyphs import draw_glyph
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as tf

GRID = 32


class Judge(nn.Module):
    """Classify ``(batch, 3, 64, 64)`` images in 0..1 into the 36 characters."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in ((1, 24), (24, 48), (48, 96)):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU()]
            layers += [
                nn.Conv2d(outputs, outputs, 3, stride=2, padding=1),
                nn.GroupNorm(8, outputs),
                nn.SiLU(),
            ]
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(96 * 16, len(CHARACTERS))

    def forward(self, images: Tensor) -> Tensor:
        grey = tf.interpolate(images.mean(1, keepdim=True), size=GRID, mode="area")
        # Per-image normalisation; the sign is removed so that polarity does not matter.
        grey = grey - grey.amin((2, 3), keepdim=True)
        grey = grey / grey.amax((2, 3), keepdim=True).clamp(min=1e-3)
        rim = torch.cat((grey[..., 0, :], grey[..., -1, :], grey[..., :, 0], grey[..., :, -1]), -1)
        light = rim.mean((1, 2))[:, None, None, None] > 0.5
        out: Tensor = self.head(self.features(torch.where(light, 1 - grey, grey)).flatten(1))
        return out


def glyph_batch(rng: np.random.Generator, size: int, held_out: bool) -> tuple[Tensor, Tensor]:
    """Render a batch of glyphs and their class numbers."""
    samples = [draw_glyph(rng, held_out=held_out) for _ in range(size)]
    pixels = np.stack([np.asarray(s.image) for s in samples])
    classes = torch.tensor([CHARACTERS.index(s.facts.label) for s in samples])
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255, classes


@torch.no_grad()
def accuracy(judge: Judge, held_out: bool, count: int = 2000) -> float:
    """Return the share of fresh rendered glyphs that the judge reads correctly."""
    images, classes = glyph_batch(np.random.default_rng(77), count, held_out)
    return float((judge.eval()(images).argmax(1) == classes).float().mean())


def train(steps: int, seed: int) -> Judge:
    """Train on fresh glyphs, half of them in fonts that the generator never saw."""
    judge, rng = Judge(), np.random.default_rng(seed)
    optimiser = torch.optim.AdamW(judge.parameters(), lr=2e-3, weight_decay=0.02)
    decay = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, steps)
    for step in range(steps):
        images, classes = glyph_batch(rng, 96, held_out=step % 2 == 1)
        loss = tf.cross_entropy(judge(images), classes, label_smoothing=0.05)
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimiser.step()
        decay.step()
        if step % 50 == 0:
            print(f"step {step} / {steps} loss {loss.item():.3f}", flush=True)
    return judge


def load_judge(path: Path) -> Judge:
    """Return a trained judge in eval mode."""
    judge = Judge()
    judge.load_state_dict({k: v.float() for k, v in load_file(path).items()})
    return judge.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the .safetensors file to write")
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    judge = train(args.steps, args.seed)
    save_file({k: v.half() for k, v in judge.state_dict().items()}, args.out)
    judge = load_judge(args.out)
    print(json.dumps({"train_fonts": accuracy(judge, False), "held_out_fonts": accuracy(judge, True)}))


if __name__ == "__main__":
    main()
