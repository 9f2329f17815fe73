"""Distil a trained denoiser to few steps without guidance; resumable, bounded by processor time.

One step of the student goes where several guided steps of its teacher go (Meng et al. 2023, "On Distillation of Guided
Diffusion Models", arXiv 2210.03142). It learns on states that its own steps lead to, of creations and of variations
at every strength, so that no step meets what training did not show it. Words stay those of the teacher.

A prompt that names a label is guided more than one that does not: guidance narrows what is drawn, and a domain
without a label is to be drawn in its whole variety.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from diffusers import UNet2DConditionModel
from diffusers.models.attention_processor import AttnProcessor
from runs import find_rate, parse, train_in_turns
from torch import Tensor, nn
from train_unet import SAVE_EVERY, SHARES, Material, Run, build_unet, empty_tokens, read_shares, scheduler
from transformers import CLIPTextModel

CREATIONS = 0.5  # share of a batch; the rest are variations of any strength
OTHER_PROMPT = 0.25  # share of variations under a prompt of another image
WEAKEST = 100  # levels a variation keeps at least
LARGEST_WEIGHT = (
    5.0  # of a clean image's error; without a bound, the last hundredths of noise would count most
)


class Schedule:
    """Noise levels of the pipeline's scheduler, by timestep; -1 is a clean image."""

    def __init__(self) -> None:
        kept = scheduler().alphas_cumprod.float()
        self.levels = len(kept)
        self._signal = torch.cat([torch.ones(1), kept]).sqrt()
        self._noise = (1 - self._signal**2).sqrt()

    def parts(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Return what signal and noise are multiplied by, ``(n, 1, 1, 1)`` each."""
        rows = at + 1
        return self._signal[rows].view(-1, 1, 1, 1), self._noise[rows].view(-1, 1, 1, 1)

    def noised(self, clean: Tensor, at: Tensor) -> Tensor:
        signal, noise = self.parts(at)
        return signal * clean + noise * torch.randn_like(clean)

    def moved(self, state: Tensor, velocity: Tensor, at: Tensor, to: Tensor) -> Tensor:
        """Return states after a step of DDIM."""
        (signal, noise), (next_signal, next_noise) = self.parts(at), self.parts(to)
        clean, added = signal * state - noise * velocity, signal * velocity + noise * state
        return next_signal * clean + next_noise * added

    def clean_of(self, state: Tensor, later: Tensor, at: Tensor, to: Tensor) -> Tensor:
        """Return the clean image that a single step of DDIM from ``state`` would need to end at ``later``."""
        (signal, noise), (next_signal, next_noise) = self.parts(at), self.parts(to)
        return (later - next_noise / noise * state) / (next_signal - signal * next_noise / noise)


class Places:
    """Where each row of a batch begins, and what its steps are: as the server's scheduler would choose them."""

    def __init__(self, count: int, levels: int, steps: int, rng: np.random.Generator) -> None:
        self.created = torch.from_numpy(rng.random(count) < CREATIONS)
        kept = torch.from_numpy(rng.integers(WEAKEST, levels, count)).where(~self.created, levels)
        self._kept, self.runs = kept, torch.ceil(kept * steps / levels).long()
        self.done = torch.from_numpy(rng.integers(0, self.runs.numpy()))

    def at(self, step: Tensor | int) -> Tensor:
        """Return the timestep at which ``step`` begins, as trailing spacing has it."""
        return torch.round(self._kept - step * self._kept / self.runs).long() - 1

    def after(self, step: Tensor | int) -> Tensor:
        """Return the timestep at which ``step`` ends."""
        return (self.at(step) - self._kept // self.runs).clamp(min=-1)


class Teacher:
    """A guided denoiser."""

    def __init__(self, unet: nn.Module, nothing: Tensor) -> None:
        self._unet, self._nothing = unet, nothing

    def velocity(self, state: Tensor, at: Tensor, words: Tensor, guidance: Tensor) -> Tensor:
        rows = guidance != 1
        nothing = self._nothing.expand(int(rows.sum()), *words.shape[1:])
        asked = torch.cat([state, state[rows]]), torch.cat([at, at[rows]]), torch.cat([words, nothing])
        told, free = self._unet(*asked).sample.float().split([len(state), len(nothing)])
        told[rows] = free + guidance[rows].view(-1, 1, 1, 1) * (told[rows] - free)
        return told

    def walk(
        self, schedule: Schedule, state: Tensor, asked: Asked, at: Tensor, to: Tensor, steps: int
    ) -> Tensor:
        """Return where ``steps`` equal steps lead."""
        for step in range(steps):
            here = at + (to - at) * step // steps
            there = at + (to - at) * (step + 1) // steps
            velocity = self.velocity(state, here, asked.words, asked.guidance)
            state = schedule.moved(state, velocity, here, there)
        return state


@dataclass(frozen=True)
class Asked:
    """One batch's conditions.

    Attributes:
        words: Hidden states of the prompts, ``(n, tokens, width)``.
        guidance: Of the teacher for each, ``(n,)``.
    """

    words: Tensor
    guidance: Tensor


@torch.no_grad()
def reach(student: nn.Module, schedule: Schedule, clean: Tensor, words: Tensor, places: Places) -> Tensor:
    """Return the states after the steps that each row has behind it."""
    state = schedule.noised(clean, places.at(0))
    for step in range(int(places.done.max())):
        rows = places.done > step
        at, to = places.at(step)[rows], places.after(step)[rows]
        velocity = student(state[rows], at, words[rows]).sample.float()
        state[rows] = schedule.moved(state[rows], velocity, at, to)
    return state


def loss_of(
    student: nn.Module,
    teacher: Teacher,
    clean: Tensor,
    asked: Asked,
    args: argparse.Namespace,
    rng: np.random.Generator,
) -> Tensor:
    """Return the weighted error of the clean images that the student's next steps imply."""
    schedule = Schedule()
    places = Places(len(clean), schedule.levels, args.steps, rng)
    state = reach(student, schedule, clean, asked.words, places)
    at, to = places.at(places.done), places.after(places.done)
    with torch.no_grad():
        later = teacher.walk(schedule, state, asked, at, to, args.substeps)
    signal, noise = schedule.parts(at)
    implied = signal * state - noise * student(state, at, asked.words).sample.float()
    weight = (1 / noise**2).clamp(max=LARGEST_WEIGHT)
    return (weight * (implied - schedule.clean_of(state, later, at, to)) ** 2).mean()


def networks(folder: Path) -> tuple[dict[str, nn.Module], nn.Module]:
    """Return the student's networks, which begin as the teacher's, and the teacher's denoiser."""
    teacher = UNet2DConditionModel.from_pretrained(folder / "unet", torch_dtype=torch.float32)
    text = CLIPTextModel.from_pretrained(folder / "text_encoder", torch_dtype=torch.float32)
    student = build_unet()
    student.load_state_dict(teacher.state_dict())
    student.set_attn_processor(AttnProcessor())
    for frozen in (teacher, text, student.add_embedding):
        frozen.requires_grad_(False)
    return {"unet": student, "text_encoder": text}, teacher.eval()


def others(count: int, rng: np.random.Generator) -> Tensor:
    """Return whose prompt each row gets: its own, or another row's."""
    rows = torch.arange(count)
    exchanged = torch.from_numpy(rng.random(count) < OTHER_PROMPT)
    return torch.where(exchanged, rows.roll(1), rows)


def distil(args: argparse.Namespace) -> None:
    """Train until the time budget is used; the checkpoint holds the averages to export."""
    material, empty = Material(args.cache, args.shares), empty_tokens(args.cache)
    modules, denoiser = networks(args.teacher)
    student, text = modules["unet"], modules["text_encoder"]
    with torch.no_grad():
        teacher = Teacher(denoiser, text(empty[None]).last_hidden_state)
    run = Run(args, modules)

    def turn(rng: np.random.Generator) -> dict[str, float]:
        clean, tokens, named = material.batch(args.batch, empty, rng)
        rows = others(args.batch, rng)
        guidance = torch.where(named[rows], args.guidance, args.unnamed_guidance)
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            with torch.no_grad():
                words = text(tokens[rows]).last_hidden_state
            loss = loss_of(student, teacher, clean, Asked(words, guidance), args, rng)
        run.learn(loss, find_rate(args, run.clock))
        return {"loss": loss.item()}

    train_in_turns(run, turn, args.seed, SAVE_EVERY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="folder written by cache_latents.py")
    parser.add_argument(
        "--teacher", type=Path, required=True, help="pipeline folder with unet and text_encoder"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=100.0, help="processor time, restarts included")
    parser.add_argument("--steps", type=int, default=4, help="of the student from noise to image")
    parser.add_argument("--substeps", type=int, default=3, help="of the teacher for one of the student's")
    parser.add_argument(
        "--guidance", type=float, default=3.0, help="of the teacher, for prompts with a label"
    )
    parser.add_argument("--unnamed-guidance", type=float, default=1.0, help="of the teacher, for the others")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--ema", type=float, default=0.995)
    parser.add_argument("--shares", type=read_shares, default=SHARES, help="of a batch: group=share,...")
    parser.add_argument(
        "--cooldown", type=float, default=25.0, help="last minutes, in which the rate falls to 0"
    )
    parser.add_argument("--bf16", action="store_true", help="for processors that multiply bfloat16 natively")
    args = parse(parser)
    distil(args)


if __name__ == "__main__":
    main()
