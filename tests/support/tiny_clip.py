"""A text-image model of open_clip with random weights, in a directory as its hub has them; for tests only."""

from __future__ import annotations

import json
from pathlib import Path

import open_clip
import torch
from safetensors.torch import save_file

CONFIG = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 1, "layers": 1},
}
"""The vocabulary is that of open_clip's own tokenizer."""


def tiny_clip(folder: Path, seed: int = 0) -> Path:
    """Save one."""
    folder.mkdir(parents=True)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = open_clip.CLIP(**CONFIG)
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": CONFIG, "preprocess_cfg": {}}))
    save_file(network.state_dict(), folder / "open_clip_model.safetensors")
    return folder
