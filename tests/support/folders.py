"""Private folders to start from, and what is found in the folder of a run; for tests only."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image


def class_folders(
    root: Path, seed: int, labels: tuple[str, ...] = ("type A", "type B"), shots: int = 3
) -> Path:
    """Private images that nobody else has."""
    random = np.random.default_rng(seed)
    for label in labels:
        (root / label).mkdir(parents=True)
        for number in range(shots):
            pixels = random.integers(0, 256, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / label / f"secret-{seed}-{number}.png")
    return root


def toned_folders(root: Path, tones: dict[str, int], count: int, seed: int, side: int = 16) -> Path:
    """Class folders of noise above a tone for each."""
    random = np.random.default_rng(seed)
    for label, tone in tones.items():
        (root / label).mkdir(parents=True)
        for number in range(count):
            pixels = tone + random.integers(0, 60, (side, side, 3))
            Image.fromarray(pixels.astype(np.uint8)).save(root / label / f"{number}.png")
    return root


def events(run: Path) -> list[dict]:
    """The transcript's events."""
    log = run / "transcript" / "log.jsonl"
    return [json.loads(line)["event"] for line in log.read_bytes().splitlines()]


def list_released(run: Path) -> dict[str, bytes]:
    """The synthetic dataset."""
    return {p.relative_to(run).as_posix(): p.read_bytes() for p in sorted((run / "release").rglob("*.png"))}


def receipts(run: Path) -> list[dict]:
    """Everything released, without the run's id."""
    found = [event["receipt"] for event in events(run) if event["kind"] == "released"]
    return [{key: value for key, value in each.items() if key != "run_id"} for each in found]
