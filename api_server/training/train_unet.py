"""Train the UNet and the text encoder jointly on cached latents; resumable, bounded by wall time.

v-prediction on a cosine schedule with more weight on high noise, 10 % prompt dropout for
classifier-free guidance, an exponential moving average of both networks, glyphs first.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from diffusers import DDIMScheduler, UNet2DConditionModel
from diffusers.models.attention_processor import AttnProcessor
from runs import Average, Clock, learning_rate, save_atomically
from tokenizer import MAX_TOKENS
from torch import Tensor
from torch.nn import functional as tf
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

TEXT_WIDTH = 96
DROPOUT = 0.1


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


@dataclass
class Material:
    """Cached latents and prompt tokens, with the rows of glyphs kept apart."""

    latents: np.ndarray
    tokens: np.ndarray
    glyphs: np.ndarray
    others: np.ndarray

    @classmethod
    def load(cls, folder: Path) -> Material:
        families = np.asarray(json.loads((folder / "families.json").read_text()))
        return cls(
            np.load(folder / "latents.npy"),
            np.load(folder / "tokens.npy"),
            np.flatnonzero(families == "glyph"),
            np.flatnonzero(families != "glyph"),
        )

    def batch(
        self, size: int, glyph_share: float, empty: Tensor, rng: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return latents and token ids of a random batch, some prompts dropped."""
        glyphs = rng.binomial(size, glyph_share)
        rows = np.concatenate((rng.choice(self.glyphs, glyphs), rng.choice(self.others, size - glyphs)))
        tokens = torch.from_numpy(
            self.tokens[rows, rng.integers(self.tokens.shape[1], size=size)].astype(np.int64)
        )
        tokens[torch.from_numpy(rng.random(size) < DROPOUT)] = empty
        return torch.from_numpy(self.latents[rows]).float(), tokens


def noised(
    latents: Tensor, schedule: DDIMScheduler, rng: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Return noisy latents, their timesteps and the velocity to predict."""
    # The exponent tilts the draw towards high noise, where the class is decided.
    share = torch.from_numpy(rng.random(len(latents)) ** 0.7)
    steps = (share * schedule.config.num_train_timesteps).long().clamp(max=999)
    noise = torch.randn_like(latents)
    return schedule.add_noise(latents, noise, steps), steps, schedule.get_velocity(latents, noise, steps)


def train(args: argparse.Namespace) -> None:
    """Train until the time budget is used; the checkpoint holds the averages to export."""
    material = Material.load(args.cache)
    tokenizer = CLIPTokenizer.from_pretrained(args.cache / "tokenizer")
    unet, text, schedule = build_unet(), build_text_encoder(tokenizer), scheduler()
    # The fused CPU attention has a slow backward pass: a quarter of the step for 64 positions.
    unet.set_attn_processor(AttnProcessor())
    modules = {"unet": unet, "text_encoder": text}
    empty = torch.tensor(tokenizer("", padding="max_length", max_length=MAX_TOKENS).input_ids)
    parameters = [p for m in modules.values() for p in m.parameters()]
    print(f"parameters: {sum(p.numel() for p in parameters):,}", flush=True)
    optimiser = torch.optim.AdamW(parameters, lr=args.lr, weight_decay=0.01, betas=(0.9, 0.99))
    average, step, clock, running = Average(modules, args.ema), 0, Clock(args.minutes * 60), 1.0
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint = args.out / "checkpoint.pt"
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        for name, module in modules.items():
            module.load_state_dict(state[name])
        optimiser.load_state_dict(state["optimiser"])
        average.restore(state["average"])
        step, clock.spent_before_s = state["step"], state["spent_s"]
    rng = np.random.default_rng([args.seed, step])
    while clock.progress < 1:
        optimiser.param_groups[0]["lr"] = learning_rate(args.lr, clock.progress)
        share = 0.85 if clock.progress < args.glyphs_first else 0.62
        latents, tokens = material.batch(args.batch, share, empty, rng)
        noisy, steps, wanted = noised(latents, schedule, rng)
        with torch.autocast("cpu", torch.bfloat16):
            words = text(tokens).last_hidden_state
            predicted = unet(noisy, steps, words).sample
        loss = tf.mse_loss(predicted.float(), wanted)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        average.update()
        step += 1
        running += (loss.item() - running) * 0.01
        if step % 50 == 0:
            print(f"step {step} loss {running:.4f}, {clock.eta()}", flush=True)
        if step % 200 == 0 or clock.progress >= 1:
            state = {name: module.state_dict() for name, module in modules.items()}
            state |= {"optimiser": optimiser.state_dict(), "average": average.state()}
            save_atomically({**state, "step": step, "spent_s": clock.spent_s}, checkpoint)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="folder written by cache_latents.py")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=80.0)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1.2e-3)
    parser.add_argument("--ema", type=float, default=0.999)
    parser.add_argument("--glyphs-first", type=float, default=0.25, help="share of the run with 85 %% glyphs")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    train(args)


if __name__ == "__main__":
    main()
