"""Sharpen a distilled denoiser against a discriminator; resumable, bounded by processor time.

A student of few steps draws the mean of what its teacher might have drawn, which is soft. Here it draws whole images
and variations, and a discriminator tells them from real ones of the same kind. It sees noised latents through the
first half of the frozen student (Sauer et al. 2024, arXiv 2403.12015), without words; small heads say of what it
sees whether it is real, given the kind that was asked for, and which kind it is (Odena et al. 2017, arXiv 1610.09585).
Where nothing is drawn, the student is held where it began.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from diffusers import UNet2DConditionModel
from distil_unet import WEAKEST, Schedule, networks
from runs import find_rate, parse, save_atomically, train_in_turns
from torch import Tensor, nn
from torch.nn import functional as tf
from train_unet import SHARES, Groups, Run, empty_tokens, read_shares

FROM_NOISE = 0.6  # share of turns; in the others, images are varied, at any strength
BLURRED = 600  # levels of noise through which the discriminator looks, at most
FIRST = 100  # turns in which the discriminator learns alone
SAVE_EVERY = 50
# Groups of which real images hold the student: glyphs most, which have the most kinds to forget.
HELD = {"glyph": 0.5, "surface": 0.2, "blood smear": 0.2, "chest x-ray": 0.1}
PURE_NOISE = 0.4  # share of those that hold it where a drawing begins, where the kind is decided
WIDTH = 64  # of the discriminator's heads


@dataclass(frozen=True)
class Batch:
    """Real latents ``(n, 4, 16, 16)``, tokens of their prompts, and kinds.

    Attributes:
        kinds: What the images show, ``(n,)``.
        asked: The same where the prompt names it, and elsewhere the number that stands for any kind of the group.
    """

    latents: Tensor
    tokens: Tensor
    kinds: Tensor
    asked: Tensor


class Collection:
    """Cached latents, and what they show: ``group|label``."""

    def __init__(self, cache: Path, folders: list[Path]) -> None:
        self._latents = np.load(cache / "latents.npy")
        self._tokens, self._named = np.load(cache / "tokens.npy"), np.load(cache / "named.npy")
        self._groups = Groups(cache)
        groups = self._groups.of_rows
        labels = [entry["label"] for f in folders for entry in json.loads((f / "labels.json").read_text())]
        shown = [f"{group}|{label}" for group, label in zip(groups, labels, strict=True)]
        self.kinds, self.groups = sorted(set(shown)), self._groups.names
        self._kind = np.asarray([self.kinds.index(each) for each in shown])
        self._any = len(self.kinds) + np.asarray([self.groups.index(each) for each in groups])

    def members(self) -> Tensor:
        """Return which kinds belong to each group, bool ``(groups, kinds)``."""
        return torch.tensor([[kind.startswith(f"{group}|") for kind in self.kinds] for group in self.groups])

    def batch(self, size: int, shares: dict[str, float], rng: np.random.Generator) -> Batch:
        """Return a random batch with each group's share."""
        rows = self._groups.draw(size, shares, rng)
        variants = rng.integers(self._tokens.shape[1], size=size)
        asked = np.where(self._named[rows, variants], self._kind[rows], self._any[rows])
        tokens = self._tokens[rows, variants].astype(np.int64)
        latents = torch.from_numpy(self._latents[rows]).float()
        return Batch(latents, *map(torch.from_numpy, (tokens, self._kind[rows], asked)))


class LatentJudge(nn.Module):
    """Heads on what the frozen first half of a denoiser makes of noised latents."""

    def __init__(self, unet: UNet2DConditionModel, nothing: Tensor, kinds: int, groups: int) -> None:
        super().__init__()
        self._frozen = [unet]  # in a list, so that its parameters are none of this module's
        self._nothing = nothing
        widths = unet.config.block_out_channels
        self.heads = nn.ModuleList(_head(width) for width in widths)
        self.real = nn.ModuleList(nn.Conv2d(WIDTH, 1, 1) for _ in widths)
        self.wanted = nn.ModuleList(nn.Embedding(kinds + groups, WIDTH) for _ in widths)
        self.kind = nn.Linear(WIDTH * len(widths), kinds)

    def features(self, latents: Tensor, at: Tensor) -> list[Tensor]:
        """Return what each resolution makes of latents with noise of level ``at``, as if no words were said."""
        unet = self._frozen[0]
        words = self._nothing.expand(len(latents), *self._nothing.shape[1:])
        time = unet.time_embedding(unet.get_time_embed(latents, at))
        time = time + unet.get_aug_embed(time, words, {})
        state, found = unet.conv_in(latents), []
        for block in unet.down_blocks:
            told = {"encoder_hidden_states": words} if getattr(block, "has_cross_attention", False) else {}
            state, outputs = block(state, time, **told)
            found.append(outputs[0])  # before it is made smaller
        return found

    def forward(self, features: list[Tensor], asked: Tensor) -> tuple[Tensor, Tensor]:
        """Return how real images look at each resolution, ``(n, resolutions)``, and kinds' logits, ``(n, kinds)``."""
        hidden = [head(seen) for head, seen in zip(self.heads, features, strict=True)]
        pooled = [each.mean((2, 3)) for each in hidden]
        real = [
            place(each).mean((1, 2, 3)) + (mean * wanted(asked)).sum(1)
            for place, wanted, each, mean in zip(self.real, self.wanted, hidden, pooled, strict=True)
        ]
        return torch.stack(real, 1), self.kind(torch.cat(pooled, 1))


def _head(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.GroupNorm(8, width),
        nn.Conv2d(width, WIDTH, 3, padding=1),
        nn.GroupNorm(8, WIDTH),
        nn.SiLU(),
        nn.Conv2d(WIDTH, WIDTH, 3, padding=1),
        nn.SiLU(),
    )


class Variety:
    """How often each kind was drawn lately where none was asked for."""

    def __init__(self, members: Tensor) -> None:
        self._members = members
        self.shares = members.float() / members.sum(1, keepdim=True)

    def loss(self, logits: Tensor, asked: Tensor) -> Tensor:
        """Return what falls where kinds become likelier that were drawn too rarely; and remember these."""
        kinds = self._members.shape[1]
        free = asked >= kinds
        if not free.any():
            return logits.sum() * 0
        groups = asked[free] - kinds
        likely = logits[free].masked_fill(~self._members[groups], -1e4).softmax(1)
        cost = (likely * self.shares[groups].clamp(min=1e-3).log()).sum(1).mean()
        for group in groups.unique().tolist():
            self.shares[group].lerp_(likely[groups == group].detach().mean(0), 0.05)
        return cost


def kind_loss(logits: Tensor, asked: Tensor) -> Tensor:
    """Return how unlike the kinds look that prompts name."""
    named = asked < logits.shape[1]
    return tf.cross_entropy(logits[named], asked[named]) if named.any() else logits.sum() * 0


def draw(
    student: nn.Module, schedule: Schedule, batch: Batch, words: Tensor, steps: int, rng: np.random.Generator
) -> Tensor:
    """Return latents that the student's own steps lead to, from noise or from real ones with noise.

    What is learnt reaches back a random number of steps.
    """
    top, runs = schedule.levels, steps
    if rng.random() >= FROM_NOISE:
        top = int(rng.integers(WEAKEST, schedule.levels))
        runs = -(-top * steps // schedule.levels)
    taught = int(rng.integers(1, runs + 1))
    starts = [round(top - step * top / runs) - 1 for step in range(runs)]
    state = schedule.noised(batch.latents, torch.full((len(words),), starts[0]))
    for step, start in enumerate(starts):
        at = torch.full((len(words),), start)
        to = (at - top // runs).clamp(min=-1)
        with torch.set_grad_enabled(torch.is_grad_enabled() and step >= runs - taught):
            state = schedule.moved(state, student(state, at, words).sample.float(), at, to)
    return state


class Sharpening:
    """The student, what tells its drawings from real ones, and what each learns from."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.schedule = args, Schedule()
        self.collection = Collection(args.cache, args.folders)
        modules, self._frozen = networks(args.student)
        self.student, self._text = modules["unet"], modules["text_encoder"]
        members = self.collection.members()
        self.variety = Variety(members)
        self.judge = LatentJudge(
            self._frozen, self._words(empty_tokens(args.cache)[None]), members.shape[1], len(members)
        )
        self.learner = torch.optim.Adam(self.judge.parameters(), lr=args.judge_lr, betas=(0.0, 0.99))
        self.run, self._file = Run(args, modules), args.out / "judge.pt"
        self.clock = self.run.clock
        if self._file.exists():
            self._restore()

    @property
    def step(self) -> int:
        return self.run.step

    @torch.no_grad()
    def _words(self, tokens: Tensor) -> Tensor:
        found: Tensor = self._text(tokens).last_hidden_state
        return found

    def turn(self, rng: np.random.Generator) -> dict[str, float]:
        """Let the discriminator learn, and after its first turns the student; return the parts of their losses."""
        args = self.args
        batch = self.collection.batch(args.batch, args.shares, rng)
        alone = self.step < FIRST
        with torch.set_grad_enabled(not alone):
            image = draw(self.student, self.schedule, batch, self._words(batch.tokens), args.steps, rng)
        told = self._teach_judge(batch, image.detach(), rng)
        if alone:
            self.run.step += 1
            return told
        real, logits = self.judge(self._see(image, rng), batch.asked)
        parts = {
            "held": args.hold * self._drift(rng),
            "real": -args.fool * real.mean(),
            "kind": args.kind * kind_loss(logits, batch.asked),
            "variety": args.variety * self.variety.loss(logits, batch.asked),
        }
        self.run.learn(sum(parts.values(), torch.zeros(())), find_rate(args, self.clock))
        return told | {name: part.item() for name, part in parts.items()}

    def _see(self, latents: Tensor, rng: np.random.Generator) -> list[Tensor]:
        at = torch.from_numpy(rng.integers(0, BLURRED, len(latents)))
        return self.judge.features(self.schedule.noised(latents, at), at)

    def _teach_judge(self, batch: Batch, image: Tensor, rng: np.random.Generator) -> dict[str, float]:
        with torch.no_grad():
            seen, drawn = self._see(batch.latents, rng), self._see(image, rng)
        real, logits = self.judge(seen, batch.asked)
        fake, _ = self.judge(drawn, batch.asked)
        reads = tf.cross_entropy(logits, batch.kinds)
        self.learner.zero_grad(set_to_none=True)
        torch.autograd.backward(tf.relu(1 - real).mean() + tf.relu(1 + fake).mean() + reads)
        self.learner.step()
        return {"told apart": (real.mean() - fake.mean()).item(), "reads": reads.item()}

    def _drift(self, rng: np.random.Generator) -> Tensor:
        """Return how far the student went from where it began, on real images with noise."""
        batch, levels = self.collection.batch(self.args.batch, HELD, rng), self.schedule.levels
        words = self._words(batch.tokens)
        at = torch.from_numpy(rng.integers(WEAKEST, levels, len(words)))
        at = torch.where(torch.from_numpy(rng.random(len(words)) < PURE_NOISE), levels - 1, at)
        state = self.schedule.noised(batch.latents, at)
        with torch.no_grad():
            before = self._frozen(state, at, words).sample
        return tf.mse_loss(self.student(state, at, words).sample, before)

    def save(self) -> None:
        self.run.save()
        state = {"judge": self.judge.state_dict(), "learner": self.learner.state_dict()}
        save_atomically({**state, "shares": self.variety.shares}, self._file)

    def _restore(self) -> None:
        state = torch.load(self._file, weights_only=True)
        self.judge.load_state_dict(state["judge"])
        self.learner.load_state_dict(state["learner"])
        self.variety.shares = state["shares"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="folder written by cache_latents.py")
    parser.add_argument(
        "--folders", type=Path, nargs="+", required=True, help="what it was made from: --data, --photographs"
    )
    parser.add_argument("--student", type=Path, required=True, help="pipeline folder to sharpen")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=50.0, help="processor time, restarts included")
    parser.add_argument("--steps", type=int, default=4, help="of the student from noise to image")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1.5e-4)
    parser.add_argument("--judge-lr", type=float, default=1e-3)
    parser.add_argument("--hold", type=float, default=1.0, help="weight of staying near")
    parser.add_argument("--fool", type=float, default=0.03, help="weight of looking real")
    parser.add_argument("--kind", type=float, default=0.03, help="weight of the kind that is asked for")
    parser.add_argument(
        "--variety", type=float, default=0.03, help="weight of all kinds where none is asked for"
    )
    parser.add_argument("--ema", type=float, default=0.99)
    parser.add_argument("--shares", type=read_shares, default=SHARES, help="of a batch: group=share,...")
    parser.add_argument(
        "--cooldown", type=float, default=12.0, help="last minutes, in which the rate falls to 0"
    )
    args = parse(parser)
    sharpening = Sharpening(args)
    train_in_turns(sharpening, sharpening.turn, args.seed, SAVE_EVERY)


if __name__ == "__main__":
    main()
