"""Train the autoencoder (64x64 RGB to 4x16x16) on rendered material, then normalise its latents.

Resumes from ``OUT/checkpoint.pt``; at the end writes ``OUT/vae`` in diffusers' format with the
per-channel latent mean and scale folded into the 1x1 convolutions, so ``scaling_factor`` is 1.

With ``--start`` only the decoder of a finished autoencoder is trained further, so that cached latents and
the UNet that was trained on them stay valid; ``--photographs`` adds as many photographs to every batch.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from runs import Clock, image_batches, learning_rate, load_material, parse, save_atomically
from torch import Tensor
from torch.nn import functional as tf

CHANNELS = 4
KL_WEIGHT = 5e-7  # 2e-5 let two of the four channels collapse


def build_vae() -> AutoencoderKL:
    """Return the untrained autoencoder."""
    vae: AutoencoderKL = AutoencoderKL(
        block_out_channels=(16, 32, 64),
        down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3,
        layers_per_block=1,
        latent_channels=CHANNELS,
        norm_num_groups=8,
        sample_size=64,
        scaling_factor=1.0,
        mid_block_add_attention=False,
    )
    return vae


def loss_of(vae: AutoencoderKL, batch: Tensor) -> tuple[Tensor, Tensor]:
    """Return the training loss and the squared error of the reconstruction."""
    posterior = vae.encode(batch).latent_dist
    decoded = vae.decode(posterior.sample()).sample.float()
    error = tf.mse_loss(decoded, batch)
    sharp = (decoded.diff(dim=-1) - batch.diff(dim=-1)).abs().mean()
    sharp = sharp + (decoded.diff(dim=-2) - batch.diff(dim=-2)).abs().mean()
    return 2 * error + tf.l1_loss(decoded, batch) + 0.5 * sharp + KL_WEIGHT * posterior.kl().mean(), error


def crop(batch: Tensor, seed: int) -> Tensor:
    """Cut one 32x32 window: the network is convolutional, and four times the steps fit the budget."""
    y, x = np.random.default_rng(seed).integers(0, 33, 2)
    return batch[:, :, y : y + 32, x : x + 32].contiguous()


@torch.no_grad()
def revive(vae: AutoencoderKL, batch: Tensor) -> None:
    """Restart collapsed channels, those whose posterior is mostly noise."""
    posterior = vae.encode(batch).latent_dist
    dead = posterior.std.mean((0, 2, 3)) > posterior.mean.std((0, 2, 3))
    print(f"reviving channels {dead.nonzero().flatten().tolist()}", flush=True)
    quant, post = vae.quant_conv, vae.post_quant_conv
    for channel in dead.nonzero().flatten().tolist():
        torch.nn.init.normal_(quant.weight[channel], std=0.2)
        quant.weight[CHANNELS + channel] = 0
        quant.bias[CHANNELS + channel] = -5.0
        torch.nn.init.normal_(post.weight[:, channel], std=0.2)


@torch.no_grad()
def normalise(vae: AutoencoderKL, batch: Tensor) -> None:
    """Fold each latent channel's mean and standard deviation into the 1x1 convolutions."""
    latents = vae.encode(batch).latent_dist.mean
    mean, scale = latents.mean((0, 2, 3)), latents.std((0, 2, 3))
    quant, post = vae.quant_conv, vae.post_quant_conv
    quant.weight[:CHANNELS] /= scale[:, None, None, None]
    quant.bias[:CHANNELS] = (quant.bias[:CHANNELS] - mean) / scale
    quant.bias[CHANNELS:] -= 2 * scale.log()
    post.bias += (post.weight[:, :, 0, 0] * mean).sum(1)
    post.weight *= scale[None, :, None, None]


def begin(args: argparse.Namespace) -> AutoencoderKL:
    """Return a new autoencoder, or a finished one of which only the decoder will learn."""
    if not args.start:
        return build_vae()
    vae: AutoencoderKL = AutoencoderKL.from_pretrained(args.start, torch_dtype=torch.float32)
    vae.encoder.requires_grad_(False)
    vae.quant_conv.requires_grad_(False)
    return vae


def batches(args: argparse.Namespace, images: np.ndarray, step: int) -> Iterator[Tensor]:
    """Yield batches of renderings, half of them photographs if there are any."""
    rng = np.random.default_rng([args.seed, step])
    if not args.photographs:
        yield from image_batches(images, args.batch, rng)
    views = np.load(args.photographs / "images.npy", mmap_mode="r")
    half = args.batch // 2
    for pair in zip(
        image_batches(images, args.batch - half, rng), image_batches(views, half, rng), strict=True
    ):
        yield torch.cat(pair)


def train(args: argparse.Namespace) -> None:
    """Train within the time budget and export."""
    images, _ = load_material(args.data)
    vae = begin(args)
    learning = [p for p in vae.parameters() if p.requires_grad]
    print(f"parameters: {sum(p.numel() for p in learning):,}", flush=True)
    optimiser = torch.optim.AdamW(learning, lr=args.lr, weight_decay=0.0)
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint, step, clock = args.out / "checkpoint.pt", 0, Clock(args.minutes * 60)
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        vae.load_state_dict(state["vae"])
        optimiser.load_state_dict(state["optimiser"])
        step, clock.spent_before_s = state["step"], state["spent_s"]
        if args.revive:
            revive(vae, next(image_batches(images, 128, np.random.default_rng(args.seed))))
            optimiser = torch.optim.AdamW(vae.parameters(), lr=args.lr, weight_decay=0.0)
            clock.spent_before_s = 0.0
    for batch in batches(args, images, step):
        if clock.progress >= 1:
            break
        optimiser.param_groups[0]["lr"] = learning_rate(args.lr, clock.progress)
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            loss, error = loss_of(vae, crop(batch, args.seed + step))
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimiser.step()
        step += 1
        if step % 100 == 0:
            decibel = 10 * float(torch.log10(4 / error.detach()))
            print(f"step {step} psnr {decibel:.1f} dB, {clock.eta()}", flush=True)
        if step % 500 == 0:
            state = {"vae": vae.state_dict(), "optimiser": optimiser.state_dict()}
            save_atomically({**state, "step": step, "spent_s": clock.spent_s}, checkpoint)
    vae.eval()
    if not args.start:
        normalise(vae, next(image_batches(images, 1024, np.random.default_rng(args.seed))))
    vae.save_pretrained(args.out / "vae")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder written by render.py")
    parser.add_argument("--photographs", type=Path, help="folder written by views.py")
    parser.add_argument("--start", type=Path, help="finished autoencoder whose decoder is to learn more")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=9.0, help="processor time, restarts included")
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--bf16", action="store_true", help="for processors that multiply bfloat16 natively")
    parser.add_argument("--revive", action="store_true", help="restart collapsed channels and the clock")
    args = parse(parser)
    train(args)


if __name__ == "__main__":
    main()
