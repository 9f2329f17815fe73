"""Measure the bundled generator: prompt following, image-to-image, speed, domains. ``--json`` for machines.

Prompt following is judged by the CNN of ``judge.py``, whose own error on rendered glyphs is printed
beside it. Image-to-image is measured on latents-free grounds: root mean squared pixel difference.
Surfaces (``--weights``) and the domains of public photographs (``--public`` too) are judged by a pretrained
network from outside of this project; without it they are skipped, and the result says why.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import AutoPipelineForImage2Image, StableDiffusionPipeline
from domains import (
    ENCODER,
    Encoder,
    Reference,
    effective,
    measure_autoencoder,
    measure_domains,
    measure_kept,
    measure_surfaces,
    sheet,
)
from judge import load_judge
from material import CHARACTERS, MATERIALS
from material.facts import DIGITS, SIZE
from PIL import Image, ImageDraw
from torch import Tensor

from pcevolve_server.diffusion.schedulers import begin_at, run_steps

FORMS = ("A printed glyph image with {}", "A handwritten mark image with {}", "{}")
STRENGTHS = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0)
BATCH = 32
ALIKE = str.maketrans("OI", "01")
SHOWN_DEFECTS = (
    "cut defect",
    "scratch defect",
    "stain defect",
    "hole defect",
    "crack defect",
    "fold defect",
    "no defect",
)
SHOWN_PHOTOGRAPHS = (
    ("blood smear", "white blood cell"),
    ("blood smear", "single red blood cell"),
    ("blood smear", "platelet"),
    ("blood smear", "type A"),
    ("chest x-ray", "pneumonia"),
    ("chest x-ray", "type A"),
)


class Subject:
    """The generator under measurement with one setting of steps and guidance."""

    def __init__(self, folder: Path, steps: int, guidance: float) -> None:
        self.create = StableDiffusionPipeline.from_pretrained(folder, local_files_only=True)
        self.vary = AutoPipelineForImage2Image.from_pipe(self.create)
        for pipeline in (self.create, self.vary):
            pipeline.set_progress_bar_config(disable=True)
        self.steps, self.guidance = steps, guidance

    def images(self, prompts: list[str], seed: int = 0) -> list[Image.Image]:
        """Return one 64x64 image per prompt."""
        found: list[Image.Image] = []
        for start in range(0, len(prompts), BATCH):
            generator = torch.Generator().manual_seed(seed + start)
            part = prompts[start : start + BATCH]
            found += self.create(
                part,
                num_inference_steps=self.steps,
                guidance_scale=self.guidance,
                height=SIZE,
                width=SIZE,
                generator=generator,
            ).images
        return found

    def variations(self, prompts: list[str], images: list[Image.Image], strength: float) -> list[Image.Image]:
        """Return one variation per image; noised to exactly ``strength``, as the server does it."""
        own = self.create.scheduler
        self.vary.scheduler = begin_at(own, round(strength * len(own.betas)))
        generator = torch.Generator().manual_seed(1)
        found: list[Image.Image] = []
        for start in range(0, len(prompts), BATCH):
            found += self.vary(
                prompts[start : start + BATCH],
                image=images[start : start + BATCH],
                strength=1.0,
                num_inference_steps=run_steps(strength, self.steps),
                guidance_scale=self.guidance,
                generator=generator,
            ).images
        return found


def as_tensor(images: list[Image.Image]) -> Tensor:
    """Return float32 ``(n, 3, 64, 64)`` in 0..1."""
    return torch.from_numpy(np.stack([np.asarray(i) for i in images])).permute(0, 3, 1, 2).float() / 255


def _label(character: str) -> str:
    return f"{'digit' if character in DIGITS else 'letter'} {character}"


def prompt_following(subject: Subject, judge: torch.nn.Module, each: int) -> dict[str, float]:
    """Return the share of images that the judge reads as prompted, per prompt form and overall."""
    asked: list[str] = []
    read: list[str] = []
    digits_ten_way: list[bool] = []
    result: dict[str, float] = {}
    for number, form in enumerate(FORMS):
        wanted = [c for c in CHARACTERS for _ in range(each)]
        images = subject.images([form.format(_label(c)) for c in wanted], seed=1000 * number)
        logits = torch.cat([judge(part) for part in torch.split(as_tensor(images), 256)])
        got = [CHARACTERS[i] for i in logits.argmax(1).tolist()]
        ten = logits[:, : len(DIGITS)].argmax(1).tolist()
        digits_ten_way += [DIGITS[t] == w for t, w in zip(ten, wanted, strict=True) if w in DIGITS]
        result[form] = float(np.mean([g == w for g, w in zip(got, wanted, strict=True)]))
        asked, read = asked + wanted, read + got
    pairs = list(zip(read, asked, strict=True))
    result["36-way"] = float(np.mean([r == a for r, a in pairs]))
    result["36-way, O=0 and I=1"] = float(
        np.mean([r.translate(ALIKE) == a.translate(ALIKE) for r, a in pairs])
    )
    result["digits, 10-way"] = float(np.mean(digits_ten_way))
    return result


def marginal(subject: Subject, judge: torch.nn.Module, count: int) -> dict[str, Any]:
    """Return how a meaningless label is spread over the characters."""
    prompts = ["A handwritten mark image with type A"] * count
    images = subject.images(prompts, seed=77)

    def read(pictures: list[Image.Image]) -> list[str]:
        return [CHARACTERS[i] for i in judge(as_tensor(pictures)).argmax(1).tolist()]

    got = read(images)
    return {
        "digits": float(np.mean([character in DIGITS for character in got])),
        "letter A": float(np.mean([character == "A" for character in got])),
        "effective characters": effective(got),
        "light on dark": float((as_tensor(images)[:, :, :2].mean((1, 2, 3)) < 0.5).float().mean()),
        **measure_kept(subject.variations, prompts, images, read),
    }


def image_to_image(subject: Subject, judge: torch.nn.Module, count: int) -> dict[str, Any]:
    """Vary sources under another prompt: distance and surviving class for each strength."""
    sources = [str(c) for c in np.random.default_rng(3).choice(list(CHARACTERS), count)]
    targets = [CHARACTERS[(CHARACTERS.index(c) + 7) % len(CHARACTERS)] for c in sources]
    images = subject.images([FORMS[0].format(_label(c)) for c in sources], seed=5)
    prompts = [FORMS[0].format(_label(c)) for c in targets]
    rows: dict[str, Any] = {}
    for strength in STRENGTHS:
        varied = subject.variations(prompts, images, strength)
        got = [CHARACTERS[i] for i in judge(as_tensor(varied)).argmax(1).tolist()]
        difference = (as_tensor(varied) - as_tensor(images)).pow(2).mean((1, 2, 3)).sqrt().mean()
        rows[f"{strength:g}"] = {
            "distance": float(difference),
            "source": float(np.mean([g == s for g, s in zip(got, sources, strict=True)])),
            "target": float(np.mean([g == t for g, t in zip(got, targets, strict=True)])),
        }
    return rows


def speed(subject: Subject, threads: int) -> float:
    """Return text-to-image throughput in images per second at batch 32, best of three."""
    torch.set_num_threads(threads)
    prompts = [FORMS[0].format(_label("K"))] * BATCH
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        subject.images(prompts)
        best = min(best, time.perf_counter() - started)
    return BATCH / best


def showcase(subject: Subject, out: Path) -> None:
    """Draw a contact sheet of labelled samples."""
    prompts = [FORMS[0].format(_label(c)) for c in "37KQ"] + [FORMS[1].format(_label(c)) for c in "358R"]
    prompts += ["A handwritten mark image with type A", "white bold serif letter Q on black"]
    prompts += [f"A {m} texture image with {d}" for m, d in zip(MATERIALS, SHOWN_DEFECTS, strict=False)]
    prompts += [f"A {d} image with {i}" for d, i in SHOWN_PHOTOGRAPHS]
    columns, height = 8, SIZE + 14
    images = subject.images([p for p in prompts for _ in range(columns)], seed=11)
    across = 2
    sheet = Image.new("RGB", (across * (columns * SIZE + 12), -(-len(prompts) // across) * height), "white")
    pen = ImageDraw.Draw(sheet)
    for row, prompt in enumerate(prompts):
        left, top = (row % across) * (columns * SIZE + 12), (row // across) * height
        pen.text((left + 2, top + 1), prompt, fill="black")
        for column in range(columns):
            sheet.paste(images[row * columns + column], (left + column * SIZE, top + 13))
    sheet.quantize(192).save(out, optimize=True)


def others(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Measure surfaces and domains, or say why not."""
    if not args.weights or not (args.weights / ENCODER).exists():
        return {"surfaces and domains": f"skipped: no {ENCODER} below --weights"}
    if importlib.util.find_spec("onnxruntime") is None:
        return {"surfaces and domains": "skipped: onnxruntime is not installed"}
    encoder = Encoder(args.weights / ENCODER, args.threads)
    vae, draws = subject.create.vae, (subject.images, subject.variations)
    result: dict[str, Any] = {"surfaces": measure_surfaces(*draws, vae, encoder, args.each_surface)}
    if not args.public or not (args.public / "manifest.csv").exists():
        return {**result, "domains": "skipped: no manifest.csv below --public"}
    reference = Reference.of(args.public, encoder, args.features)
    if args.domain_sheet:
        labels = {d: reference.labels(d) or ["type A"] for d in reference.domains}
        sheet(subject.images, reference.domains, labels).quantize(160).save(args.domain_sheet, optimize=True)
    result |= measure_autoencoder(vae, encoder, reference)
    return result | measure_domains(*draws, vae, encoder, reference, args.each_domain)


@torch.no_grad()
def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Run all measurements."""
    subject, judge = Subject(args.model, args.steps, args.guidance), load_judge(args.judge)
    result: dict[str, Any] = {"steps": args.steps, "guidance": args.guidance}
    result["prompt following"] = prompt_following(subject, judge, args.each)
    result["meaningless label"] = marginal(subject, judge, 32 * max(args.each // 2, 1))
    if not args.quick:
        result["image to image"] = image_to_image(subject, judge, 48)
        result["images per second"] = speed(subject, args.speed_threads)
    if args.sheet:
        showcase(subject, args.sheet)
    result |= others(subject, args)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="pipeline directory")
    parser.add_argument("--judge", type=Path, required=True, help="file written by judge.py")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--guidance", type=float, default=1.0)
    parser.add_argument("--each", type=int, default=8, help="images per character and prompt form")
    parser.add_argument("--quick", action="store_true", help="prompt following only")
    parser.add_argument("--sheet", type=Path, help="also write a labelled contact sheet")
    parser.add_argument("--weights", type=Path, help="folder of pretrained ONNX encoders")
    parser.add_argument("--public", type=Path, help="folder of public photographs with manifest.csv")
    parser.add_argument(
        "--features", type=Path, help="file that keeps the photographs' features between runs"
    )
    parser.add_argument("--each-domain", type=int, default=48, help="images per domain and figure")
    parser.add_argument("--each-surface", type=int, default=3, help="images per material and defect")
    parser.add_argument("--domain-sheet", type=Path, help="also write a contact sheet of the domains")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--speed-threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    result = measure(args)
    print(json.dumps(result) if args.json else json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
