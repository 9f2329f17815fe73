"""Means of every training script: a time budget, a learning rate that follows it, and averages."""

from __future__ import annotations

import argparse
import json
import math
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from material import Facts
from torch import Tensor, nn

WARM_SECONDS = 120.0


@dataclass
class Clock:
    """Processor time spent on a run, across restarts, against a fixed budget.

    Not wall time: a run that shares its core, or is stopped for a while, learns no less for it.
    """

    budget_s: float
    spent_before_s: float = 0.0
    started: float = field(default_factory=time.process_time)

    @property
    def spent_s(self) -> float:
        return self.spent_before_s + time.process_time() - self.started

    @property
    def progress(self) -> float:
        """Return the share of the budget that is used, 0..1."""
        return min(self.spent_s / self.budget_s, 1.0)

    def eta(self) -> str:
        left = max(self.budget_s - self.spent_s, 0)
        return f"{left / 60:.1f} min left"


def learning_rate(peak: float, progress: float, warm: float = 0.02) -> float:
    """Return a cosine schedule over the time budget, with a short linear start."""
    if progress < warm:
        return peak * max(progress / warm, 0.02)
    return peak * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (progress - warm) / (1 - warm))))


def find_rate(args: argparse.Namespace, clock: Clock) -> float:
    """Return ``--lr`` with a linear start, and a linear end in the last ``--cooldown`` minutes.

    A run with this schedule can be continued: give it a larger budget and the rate is high again.
    """
    warm, left = min(clock.spent_s / WARM_SECONDS, 1.0), max(clock.budget_s - clock.spent_s, 0.0)
    cool = left / (args.cooldown * 60) if args.cooldown else 1.0
    rate: float = args.lr * max(min(warm, cool), 0.01)
    return rate


class Average:
    """Exponential moving average of parameters, warmed up so that early weights are forgotten."""

    def __init__(self, modules: dict[str, nn.Module], decay: float) -> None:
        self._decay, self._steps = decay, 0
        self._modules = modules
        self.shadow = {name: _copy(module) for name, module in modules.items()}

    @torch.no_grad()
    def update(self) -> None:
        self._steps += 1
        decay = min(self._decay, (1 + self._steps) / (10 + self._steps))
        for name, module in self._modules.items():
            for key, value in module.state_dict().items():
                self.shadow[name][key].lerp_(value.float(), 1 - decay)

    def state(self) -> dict[str, Any]:
        return {"steps": self._steps, "shadow": self.shadow}

    def restore(self, state: dict[str, Any]) -> None:
        self._steps, self.shadow = state["steps"], state["shadow"]


def _copy(module: nn.Module) -> dict[str, Tensor]:
    return {k: v.detach().float().clone() for k, v in module.state_dict().items()}


def save_atomically(state: dict[str, Any], path: Path) -> None:
    """Write a checkpoint so that an interrupted write leaves the old one intact."""
    temporary = path.with_suffix(".tmp")
    torch.save(state, temporary)
    temporary.replace(path)


def load_material(folder: Path) -> tuple[np.ndarray, list[Facts]]:
    """Return the memory-mapped images and the facts that ``render.py`` wrote."""
    images = np.load(folder / "images.npy", mmap_mode="r")
    facts = [Facts(**entry) for entry in json.loads((folder / "labels.json").read_text())]
    return images, facts


def meaning_names(cache: Path) -> list[str]:
    """Return the meanings that ``cache_latents.py`` numbered."""
    names: list[str] = json.loads((cache / "meanings.json").read_text())
    return names


def image_batches(images: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """Yield endless random batches, float32 ``(size, 3, 64, 64)`` in -1..1, channels last."""
    while True:
        rows = np.sort(rng.integers(len(images), size=size))
        batch = torch.from_numpy(images[rows]).permute(0, 3, 1, 2)
        yield batch.float().div_(127.5).sub_(1)


class Kept(Protocol):
    """State of a training, as it is saved."""

    clock: Clock

    @property
    def step(self) -> int: ...

    def save(self) -> None: ...


Turn = Callable[[np.random.Generator], dict[str, float]]


def train_in_turns(kept: Kept, turn: Turn, seed: int, save_every: int) -> None:
    """Train until the time budget is used, or until told to stop, and save.

    Args:
        kept: What is saved.
        turn: Learns once, and returns the parts of the loss by name.
        seed: Of what is drawn, with the step at which this call begins.
        save_every: Steps.
    """
    rng = np.random.default_rng([seed, kept.step])
    told_to_stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told_to_stop.append(number))
    means: dict[str, float] = {}
    turns = 0
    while kept.clock.progress < 1 and not told_to_stop:
        turns += 1
        for name, value in turn(rng).items():
            means[name] = means.get(name, value) + (value - means.get(name, value)) / min(turns, 100)
        if kept.step % 20 == 0:
            line = ", ".join(f"{name} {value:.4f}" for name, value in means.items())
            print(f"step {kept.step}: {line}, {kept.clock.eta()}", flush=True)
        if kept.step % save_every == 0:
            kept.save()
    kept.save()


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the command line, with the threads and the seed that every script takes, and set both."""
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    return args
