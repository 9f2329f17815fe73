"""Encode images to latents and their prompts to tokens, once, before the UNet is trained.

Writes into ``OUT``: ``latents.npy`` (float16 ``(count, 4, 16, 16)``), ``tokens.npy`` (uint16
``(count, variants, 24)``), ``meanings.npy`` (int16 ``(count, variants)``, see ``Prompts``),
``named.npy`` (bool ``(count, variants)``: whether the prompt names a label),
``groups.json`` (what a batch is balanced over: ``glyph``, ``surface``, ``item`` or a photograph's domain) and the
``tokenizer`` folder.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from material import describe
from material.captions import caption
from material.prompts import Caption
from runs import load_material
from tokenizer import MAX_TOKENS, build_tokenizer, extend_tokenizer
from transformers import CLIPTokenizer

VARIANTS = 4
BATCH = 32  # larger ones fall out of a processor's caches: at 250 an image takes three times as long
VOCABULARY = 1400
FEWEST_VIEWS = 60  # a label with fewer views means its domain and no more
DRAWN = -1  # the meaning of a rendered image's prompt: whatever the words meant before


@dataclass(frozen=True)
class Prompts:
    """Prompts of all images in order.

    Attributes:
        texts: ``VARIANTS`` prompts for each image.
        meanings: int16 ``(images, VARIANTS)``: ``DRAWN``, or an index into ``names``.
        named: bool ``(images, VARIANTS)``: whether the prompt says more than the domain.
        names: Each meaning, ``domain`` or ``domain|label``.
        groups: The group of each image.
    """

    texts: list[str]
    meanings: np.ndarray
    named: np.ndarray
    names: list[str]
    groups: list[str]


def draw_prompts(data: Path, most: int | None, rng: np.random.Generator) -> tuple[np.ndarray, Prompts]:
    """Return the rendered images, at most so many, and their prompts."""
    images, facts = load_material(data)
    images, facts = images[:most], facts[:most]
    found = [describe(entry, rng) for entry in facts for _ in range(VARIANTS)]
    groups = [entry.family for entry in facts]
    unknown = np.full((len(facts), VARIANTS), DRAWN, np.int16)
    return images, Prompts([each.text for each in found], unknown, _name(found), [], groups)


def photograph_prompts(data: Path, rng: np.random.Generator) -> tuple[np.ndarray, Prompts]:
    """Return the views of photographs that ``views.py`` wrote and their captions."""
    images = np.load(data / "images.npy", mmap_mode="r")
    entries = json.loads((data / "labels.json").read_text())
    views = Counter(f"{entry['domain']}|{entry['label']}" for entry in entries)
    found = [caption(entry["domain"], entry["label"], rng) for entry in entries for _ in range(VARIANTS)]
    said: list[str] = []
    for place, each in enumerate(found):
        entry = entries[place // VARIANTS]
        meaning = f"{entry['domain']}|{entry['label']}"
        known = each.names_label and views[meaning] >= FEWEST_VIEWS
        said.append(meaning if known else entry["domain"])
    names, places = np.unique(said, return_inverse=True)
    meanings = places.astype(np.int16).reshape(len(entries), VARIANTS)
    groups = [entry["domain"] for entry in entries]
    return images, Prompts([each.text for each in found], meanings, _name(found), names.tolist(), groups)


def _name(found: list[Caption]) -> np.ndarray:
    return np.array([each.names_label for each in found]).reshape(-1, VARIANTS)


@torch.inference_mode()
def encode(vae: AutoencoderKL, parts: list[np.ndarray], out: Path, seed: int) -> None:
    """Write the posterior means of all images, in random order, going on after an earlier call.

    Rows that are still to come are zero, so that training may begin on those that are there.
    """
    count, file = sum(map(len, parts)), out / "latents.npy"
    latents = np.lib.format.open_memmap(
        file, mode="r+" if file.exists() else "w+", dtype=np.float16, shape=(count, 4, 16, 16)
    )
    starts = np.cumsum([0, *map(len, parts)])
    todo = np.random.default_rng(seed).permutation(missing_rows(latents))
    todo = todo[np.argsort(todo < starts[-2], kind="stable")]  # the last part, the photographs, first
    for begin in range(0, len(todo), BATCH):
        rows = np.sort(todo[begin : begin + BATCH])
        split = np.searchsorted(rows, starts)
        chosen = [
            part[rows[lo:hi] - start]
            for part, start, lo, hi in zip(parts, starts[:-1], split[:-1], split[1:], strict=True)
        ]
        batch = torch.from_numpy(np.concatenate(chosen)).permute(0, 3, 1, 2)  # channels last: a third faster
        latents[rows] = vae.encode(batch.float() / 127.5 - 1).latent_dist.mean.numpy()
        if begin % 3200 == 0:
            latents.flush()
            print(f"{begin + len(rows)} / {len(todo)} to go", flush=True)
    latents.flush()


def missing_rows(latents: np.ndarray) -> np.ndarray:
    """Return the rows that are not encoded yet."""
    return np.flatnonzero(~latents[:, 0].any((1, 2)))


def tokenizer_for(args: argparse.Namespace, prompts: Prompts, captions: Prompts | None) -> CLIPTokenizer:
    """Return a new tokenizer, or a known one with the captions' words added."""
    if not args.words:
        return build_tokenizer([*prompts.texts, *(captions.texts if captions else [])])
    known = CLIPTokenizer.from_pretrained(args.words)
    return extend_tokenizer(known, captions.texts, VOCABULARY) if captions else known


def write_prompts(out: Path, tokenizer: CLIPTokenizer, parts: list[Prompts]) -> None:
    """Write tokens, meanings and groups of all images."""
    tokenizer.save_pretrained(out / "tokenizer")
    texts = [text for part in parts for text in part.texts]
    ids = tokenizer(texts, padding="max_length", max_length=MAX_TOKENS, truncation=True).input_ids
    np.save(out / "tokens.npy", np.asarray(ids, np.uint16).reshape(-1, VARIANTS, MAX_TOKENS))
    np.save(out / "meanings.npy", np.concatenate([part.meanings for part in parts]))
    np.save(out / "named.npy", np.concatenate([part.named for part in parts]))
    (out / "meanings.json").write_text(json.dumps([name for part in parts for name in part.names]))
    (out / "groups.json").write_text(json.dumps([group for part in parts for group in part.groups]))
    print(f"{len(tokenizer)} tokens", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder written by render.py")
    parser.add_argument("--most", type=int, help="use at most so many of the rendered images")
    parser.add_argument("--photographs", type=Path, help="folder written by views.py")
    parser.add_argument("--words", type=Path, help="tokenizer folder to extend instead of building a new one")
    parser.add_argument("--vae", type=Path, help="folder written by train_vae.py; omit for tokens only")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(args.seed)
    images, prompts = draw_prompts(args.data, args.most, rng)
    pictures, parts = [images], [prompts]
    if args.photographs:
        views, captions = photograph_prompts(args.photographs, rng)
        pictures, parts = [*pictures, views], [*parts, captions]
    tokenizer = tokenizer_for(args, prompts, parts[1] if args.photographs else None)
    write_prompts(args.out, tokenizer, parts)
    if args.vae:
        vae = AutoencoderKL.from_pretrained(args.vae, torch_dtype=torch.float32).eval()
        encode(vae, pictures, args.out, args.seed)


if __name__ == "__main__":
    main()
