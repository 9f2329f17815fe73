"""Sharpen the decoder of a finished autoencoder against a discriminator; resumable, bounded by processor time.

Squared errors teach a decoder the mean of all images that a latent may stand for, which lacks their grain; readers that
know photographs go by it. So a discriminator tells patches of decoded images from patches of real ones, given their
latents (Esser et al. 2021, "Taming transformers for high-resolution image synthesis", arXiv 2012.09841). The encoder
stays, and with it every cached latent and the UNet that was trained on them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from runs import Average, Clock, find_rate, parse, save_atomically, train_in_turns
from torch import Tensor, nn
from torch.nn import functional as tf
from train_unet import Groups, read_shares

SHARES = {"blood smear": 0.4, "chest x-ray": 0.3, "glyph": 0.12, "surface": 0.18}
FIRST = 60  # turns in which the discriminator learns alone
LOUDEST = 20.0  # of the discriminator's part beside the errors, by their gradients
NOISE = 0.05  # added to latents: what is drawn is never quite what an image is encoded to
GRAIN = (
    5.0  # how much louder the discriminator is shown what a small blur takes away: most of what is missing
)
SAVE_EVERY = 100


class Pairs:
    """Images and their cached latents."""

    def __init__(self, cache: Path, folders: list[Path]) -> None:
        self._parts = [np.load(folder / "images.npy", mmap_mode="r") for folder in folders]
        self._starts = np.cumsum([0, *map(len, self._parts)])
        self._latents = np.load(cache / "latents.npy")
        self._groups = Groups(cache)

    def batch(self, size: int, shares: dict[str, float], rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Return images, float32 ``(n, 3, 64, 64)`` in -1..1, and their latents."""
        rows = self._groups.draw(size, shares, rng)
        parts = np.searchsorted(self._starts, rows, side="right") - 1
        pixels = np.stack([self._parts[p][r - self._starts[p]] for p, r in zip(parts, rows, strict=True)])
        images = torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div_(127.5).sub_(1)
        return images, torch.from_numpy(self._latents[rows]).float()


class PatchJudge(nn.Module):
    """Say of every 4 x 4 patch whether it is real, given the latent it is to stand for."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [
                nn.Conv2d(6, 24, 3, padding=1),
                nn.Conv2d(24, 48, 4, stride=2, padding=1),
                nn.Conv2d(48, 96, 4, stride=2, padding=1),
                nn.Conv2d(96 + 4, 96, 3, padding=1),
            ]
        )
        self.last = nn.Conv2d(96, 1, 1)

    def forward(self, images: Tensor, latents: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return ``(n, 1, 16, 16)``, and what each layer sees."""
        grain = images - tf.avg_pool2d(images, 3, stride=1, padding=1, count_include_pad=False)
        state, seen = torch.cat([images, GRAIN * grain], 1), []
        for place, layer in enumerate(self.layers):
            if place == len(self.layers) - 1:
                state = torch.cat([state, latents], 1)
            state = tf.leaky_relu(layer(state), 0.2)
            seen.append(state)
        return self.last(state), seen


def error_of(decoded: Tensor, images: Tensor) -> Tensor:
    """Return the error that the autoencoder was trained on."""
    edges = (decoded.diff(dim=-1) - images.diff(dim=-1)).abs().mean()
    edges = edges + (decoded.diff(dim=-2) - images.diff(dim=-2)).abs().mean()
    return 2 * tf.mse_loss(decoded, images) + tf.l1_loss(decoded, images) + 0.25 * edges


def balance(error: Tensor, other: Tensor, weight: nn.Parameter) -> Tensor:
    """Return by what ``other`` is multiplied so that both move the last layer alike."""
    kept = torch.autograd.grad(error, weight, retain_graph=True)[0].norm()
    moved = torch.autograd.grad(other, weight, retain_graph=True)[0].norm()
    return (kept / (moved + 1e-6)).clamp(max=LOUDEST).detach()


class DecoderSharpening:
    """The decoder, what tells its images from real ones, and what each learns from."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.pairs = args, Pairs(args.cache, args.folders)
        self.vae: AutoencoderKL = AutoencoderKL.from_pretrained(args.start, torch_dtype=torch.float32)
        self.vae.to(memory_format=torch.channels_last)
        self.judge = PatchJudge().to(memory_format=torch.channels_last)
        self._learning = [*self.vae.decoder.parameters(), *self.vae.post_quant_conv.parameters()]
        self._own = torch.optim.Adam(self._learning, lr=args.lr, betas=(0.5, 0.99))
        self._judges = torch.optim.Adam(self.judge.parameters(), lr=args.judge_lr, betas=(0.5, 0.99))
        self.average = Average({"vae": self.vae}, args.ema)
        self.clock, self.step = Clock(args.minutes * 60), 0
        args.out.mkdir(parents=True, exist_ok=True)
        self._file = args.out / "checkpoint.pt"
        if self._file.exists():
            self._restore()

    def turn(self, rng: np.random.Generator) -> dict[str, float]:
        """Let the discriminator learn, and after its first turns the decoder; return the parts of their losses."""
        images, latents = self.pairs.batch(self.args.batch, self.args.shares, rng)
        images = images.to(memory_format=torch.channels_last)
        self.step += 1
        decoded = self.vae.decode(latents + NOISE * torch.randn_like(latents)).sample
        told = self._teach_judge(images, decoded.detach(), latents)
        if self.step <= FIRST:
            return told
        looks, seen = self.judge(decoded, latents)
        with torch.no_grad():
            wanted = self.judge(images, latents)[1]
        error = error_of(decoded, images)
        alike = torch.stack([tf.l1_loss(a, b) for a, b in zip(seen, wanted, strict=True)]).sum()
        other = -looks.mean() + self.args.alike * alike
        loud = self.args.loud * balance(error, other, self.vae.decoder.conv_out.weight)
        self._own.param_groups[0]["lr"] = find_rate(self.args, self.clock)
        self._own.zero_grad(set_to_none=True)
        torch.autograd.backward(error + loud * other)
        torch.nn.utils.clip_grad_norm_(self._learning, 1.0)
        self._own.step()
        self.average.update()
        return told | {"error": error.item(), "alike": alike.item(), "loud": loud.item()}

    def _teach_judge(self, images: Tensor, decoded: Tensor, latents: Tensor) -> dict[str, float]:
        real, _ = self.judge(images, latents)
        fake, _ = self.judge(decoded, latents)
        self._judges.zero_grad(set_to_none=True)
        torch.autograd.backward(tf.relu(1 - real).mean() + tf.relu(1 + fake).mean())
        self._judges.step()
        return {"told apart": (real.mean() - fake.mean()).item()}

    def save(self) -> None:
        state = {
            "vae": self.vae.state_dict(),
            "judge": self.judge.state_dict(),
            "own": self._own.state_dict(),
            "judges": self._judges.state_dict(),
            "average": self.average.state(),
        }
        save_atomically({**state, "step": self.step, "spent_s": self.clock.spent_s}, self._file)
        self.export()

    def _restore(self) -> None:
        state = torch.load(self._file, weights_only=True)
        self.vae.load_state_dict(state["vae"])
        self.judge.load_state_dict(state["judge"])
        self._own.load_state_dict(state["own"])
        self._judges.load_state_dict(state["judges"])
        self._judges.param_groups[0]["lr"] = self.args.judge_lr
        self.average.restore(state["average"])
        self.step, self.clock.spent_before_s = state["step"], state["spent_s"]

    def export(self) -> None:
        """Write the average in diffusers' format."""
        vae: AutoencoderKL = AutoencoderKL.from_pretrained(self.args.start, torch_dtype=torch.float32)
        vae.load_state_dict(self.average.shadow["vae"])
        vae.save_pretrained(self.args.out / "vae")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="folder written by cache_latents.py")
    parser.add_argument(
        "--folders", type=Path, nargs="+", required=True, help="what it was made from: --data, --photographs"
    )
    parser.add_argument("--start", type=Path, required=True, help="finished autoencoder, vae folder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=25.0, help="processor time, restarts included")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--judge-lr", type=float, default=6e-4)
    parser.add_argument("--loud", type=float, default=0.8, help="weight of the discriminator's part")
    parser.add_argument(
        "--alike", type=float, default=2.0, help="weight of its layers' differences in that part"
    )
    parser.add_argument("--ema", type=float, default=0.995)
    parser.add_argument("--shares", type=read_shares, default=SHARES, help="of a batch: group=share,...")
    parser.add_argument(
        "--cooldown", type=float, default=6.0, help="last minutes, in which the rate falls to 0"
    )
    args = parse(parser)
    sharpening = DecoderSharpening(args)
    train_in_turns(sharpening, sharpening.turn, args.seed, SAVE_EVERY)


if __name__ == "__main__":
    main()
