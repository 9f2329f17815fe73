"""Train the UNet on cached latents; resumable, bounded by processor time.

v-prediction on a cosine schedule with more weight on high noise, 10 % prompt dropout for
classifier-free guidance, an exponential moving average. ``--start`` is a trained pipeline to go on from, with
its words; ``--text`` gives other words; both stay frozen. ``--minutes`` may be raised later to continue.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import DDIMScheduler, UNet2DConditionModel
from diffusers.models.attention_processor import AttnProcessor
from runs import Average, Clock, find_rate, parse, save_atomically, train_in_turns
from tokenizer import MAX_TOKENS
from torch import Tensor, nn
from torch.nn import functional as tf
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

TEXT_WIDTH = 96
DROPOUT = 0.1
SAVE_EVERY = 100  # steps; also when told to stop
SHARES = {"blood smear": 0.5, "chest x-ray": 0.18, "glyph": 0.2, "surface": 0.12}


def build_unet() -> UNet2DConditionModel:
    """Return the untrained denoiser; it also sees a pooled text embedding beside the time."""
    unet: UNet2DConditionModel = UNet2DConditionModel(
        sample_size=16,
        in_channels=4,
        out_channels=4,
        block_out_channels=(64, 96, 128),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=TEXT_WIDTH,
        attention_head_dim=4,
        norm_num_groups=16,
        addition_embed_type="text",
        addition_embed_type_num_heads=4,
        # Words reach every residual block through the time embedding; let them scale, not only shift.
        resnet_time_scale_shift="scale_shift",
    )
    return unet


def build_text_encoder(tokenizer: CLIPTokenizer) -> CLIPTextModel:
    """Return the untrained text encoder, with embeddings large enough that a class word counts."""
    config = CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=TEXT_WIDTH,
        intermediate_size=256,
        projection_dim=TEXT_WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=MAX_TOKENS,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    encoder = CLIPTextModel(config)
    torch.nn.init.normal_(encoder.get_input_embeddings().weight, std=0.6)
    return encoder


def scheduler() -> DDIMScheduler:
    """Return the scheduler the pipeline ships with."""
    return DDIMScheduler(
        beta_schedule="squaredcos_cap_v2",
        prediction_type="v_prediction",
        timestep_spacing="trailing",
        clip_sample=False,
        set_alpha_to_one=True,
        steps_offset=0,
    )


class Material:
    """Cached latents and prompt tokens, and the rows of each group that a batch is balanced over."""

    def __init__(self, folder: Path, shares: dict[str, float]) -> None:
        self.latents = np.load(folder / "latents.npy")
        ready = self.latents[:, 0].any((1, 2))  # cache_latents.py may still be at work
        self.tokens = np.load(folder / "tokens.npy")
        self.named = np.load(folder / "named.npy")
        self._groups, self._shares = Groups(folder, ready), shares

    def batch(self, size: int, empty: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Return latents and token ids of a random batch, and which prompts name a label; some are dropped."""
        rows = self._groups.draw(size, self._shares, rng)
        variants = rng.integers(self.tokens.shape[1], size=size)
        tokens = torch.from_numpy(self.tokens[rows, variants].astype(np.int64))
        dropped = torch.from_numpy(rng.random(size) < DROPOUT)
        tokens[dropped] = empty
        named = torch.from_numpy(self.named[rows, variants]) & ~dropped
        return torch.from_numpy(self.latents[rows]).float(), tokens, named


class Groups:
    """Rows of a cache by what a batch is balanced over.

    Attributes:
        of_rows: The group of each row.
        names: Of all groups, sorted.
    """

    def __init__(self, cache: Path, ready: np.ndarray | None = None) -> None:
        self.of_rows = np.asarray(json.loads((cache / "groups.json").read_text()))
        self.names: list[str] = sorted(set(self.of_rows.tolist()))
        there = np.ones(len(self.of_rows), bool) if ready is None else ready
        self._rows = [np.flatnonzero((self.of_rows == name) & there) for name in self.names]

    def draw(self, size: int, shares: dict[str, float], rng: np.random.Generator) -> np.ndarray:
        """Return random rows with each group's share; the shares of groups without any fall to the others."""
        weights = weights_of_ready(self._rows, group_weights(self.names, shares))
        rows = [each for each in self._rows if each.size]
        counts = rng.multinomial(size, weights)
        return np.concatenate([rng.choice(own, n) for own, n in zip(rows, counts, strict=True)])


def group_weights(names: list[str], shares: dict[str, float]) -> list[float]:
    """Return each group's share of a batch; the shares of groups that are there sum to 1."""
    found = [shares.get(name, 0.0) for name in names]
    return [share / sum(found) for share in found]


def read_shares(text: str) -> dict[str, float]:
    """Read ``group=share,group=share``."""
    return {name.strip(): float(share) for name, share in (part.split("=") for part in text.split(","))}


def weights_of_ready(rows: list[np.ndarray], weights: list[float]) -> list[float]:
    """Return the shares of the groups that have rows already, which the others' fall to in proportion.

    Args:
        rows: Of each group, the rows that are encoded.
        weights: Of each group, its share of a batch.
    """
    if all(each.size for each in rows):
        return weights
    ready = [weight for each, weight in zip(rows, weights, strict=True) if each.size]
    if not sum(ready) > 0:
        raise SystemExit("no row that a batch is made of is encoded yet: let cache_latents.py go on")
    return [weight / sum(ready) for weight in ready]


def add_noise(
    latents: Tensor, schedule: DDIMScheduler, tilt: float, rng: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Return noisy latents, their timesteps and the velocity to predict."""
    # An exponent below 1 tilts the draw towards high noise, where the class is decided.
    share = torch.from_numpy(rng.random(len(latents)) ** tilt)
    steps = (share * schedule.config.num_train_timesteps).long().clamp(max=999)
    noise = torch.randn_like(latents)
    return schedule.add_noise(latents, noise, steps), steps, schedule.get_velocity(latents, noise, steps)


def empty_tokens(cache: Path) -> Tensor:
    """Return the tokens of no words, int64 ``(MAX_TOKENS,)``."""
    tokenizer = CLIPTokenizer.from_pretrained(cache / "tokenizer")
    return torch.tensor(tokenizer("", padding="max_length", max_length=MAX_TOKENS).input_ids)


def build(args: argparse.Namespace) -> dict[str, nn.Module]:
    """Return both networks; words that are given are frozen."""
    unet, text = build_unet(), build_text_encoder(CLIPTokenizer.from_pretrained(args.cache / "tokenizer"))
    if args.start:
        trained = UNet2DConditionModel.from_pretrained(args.start / "unet", torch_dtype=torch.float32)
        unet.load_state_dict(trained.state_dict())
    # The fused CPU attention has a slow backward pass: a quarter of the step for 64 positions.
    unet.set_attn_processor(AttnProcessor())
    if args.text:
        warm = torch.load(args.text, weights_only=True)
        text.load_state_dict(warm["text_encoder"])
        unet.add_embedding.load_state_dict(warm["add_embedding"])
    elif args.start:
        text = CLIPTextModel.from_pretrained(args.start / "text_encoder", torch_dtype=torch.float32)
    if args.text or args.start:
        # At the UNet's learning rate, a few hundred noisy steps would erase what the words mean.
        text.requires_grad_(False)
        unet.add_embedding.requires_grad_(False)
    return {"unet": unet, "text_encoder": text}


class Run:
    """Networks, optimiser, average and counters: what a checkpoint holds."""

    def __init__(self, args: argparse.Namespace, modules: dict[str, nn.Module]) -> None:
        self.modules = modules
        self.parameters = [p for m in modules.values() for p in m.parameters() if p.requires_grad]
        self.optimiser = torch.optim.AdamW(self.parameters, lr=args.lr, weight_decay=0.01, betas=(0.9, 0.99))
        self.average = Average(modules, args.ema)
        self.clock, self.step = Clock(args.minutes * 60), 0
        args.out.mkdir(parents=True, exist_ok=True)
        self._file = args.out / "checkpoint.pt"
        if self._file.exists():
            self._restore(torch.load(self._file, weights_only=True))

    def _restore(self, state: dict[str, Any]) -> None:
        for name, module in self.modules.items():
            module.load_state_dict(state[name])
        self.optimiser.load_state_dict(state["optimiser"])
        self.average.restore(state["average"])
        self.step, self.clock.spent_before_s = state["step"], state["spent_s"]

    def save(self) -> None:
        state: dict[str, Any] = {name: module.state_dict() for name, module in self.modules.items()}
        state |= {"optimiser": self.optimiser.state_dict(), "average": self.average.state()}
        save_atomically({**state, "step": self.step, "spent_s": self.clock.spent_s}, self._file)

    def learn(self, loss: Tensor, rate: float) -> None:
        """Take one optimiser step and update the average."""
        self.optimiser.param_groups[0]["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimiser.step()
        self.average.update()
        self.step += 1


def train(args: argparse.Namespace) -> None:
    """Train until the time budget is used; the checkpoint holds the averages to export."""
    material = Material(args.cache, args.shares)
    schedule = scheduler()
    modules = build(args)
    empty, run = empty_tokens(args.cache), Run(args, modules)
    print(f"parameters: {sum(p.numel() for p in run.parameters):,}", flush=True)

    def turn(rng: np.random.Generator) -> dict[str, float]:
        latents, tokens, _ = material.batch(args.batch, empty, rng)
        noisy, steps, wanted = add_noise(latents, schedule, args.tilt, rng)
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            words = modules["text_encoder"](tokens).last_hidden_state
            predicted = modules["unet"](noisy, steps, words).sample
        loss = tf.mse_loss(predicted.float(), wanted)
        run.learn(loss, find_rate(args, run.clock))
        return {"loss": loss.item()}

    train_in_turns(run, turn, args.seed, SAVE_EVERY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="folder written by cache_latents.py")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=80.0, help="processor time, restarts included")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1.2e-3)
    parser.add_argument("--ema", type=float, default=0.999)
    parser.add_argument("--shares", type=read_shares, default=SHARES, help="of a batch: group=share,...")
    parser.add_argument(
        "--cooldown", type=float, default=20.0, help="last minutes, in which the rate falls to 0"
    )
    parser.add_argument("--bf16", action="store_true", help="for processors that multiply bfloat16 natively")
    parser.add_argument("--start", type=Path, help="pipeline folder to go on from, words included")
    parser.add_argument("--tilt", type=float, default=0.6, help="below 1: more high-noise timesteps")
    parser.add_argument("--text", type=Path, help="words to start from, written by train_text.py")
    args = parse(parser)
    train(args)


if __name__ == "__main__":
    main()
