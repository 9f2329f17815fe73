"""Models on disk, changed."""

from __future__ import annotations

import json
import shutil

import pytest
from safetensors.torch import load_file, save_file

from support import single_file
from support.tiny_model import tiny_pipeline


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("whole") / "mine"


@pytest.fixture(scope="module")
def checkpoint(folder):
    """One file with all weights, and beside it a folder of its name with the configuration and no weights."""
    pipeline = tiny_pipeline()
    pipeline.save_pretrained(folder, safe_serialization=True)
    for weights in folder.rglob("*.safetensors"):
        weights.unlink()
    return single_file.save(pipeline, folder.with_suffix(".safetensors"))


@pytest.fixture
def changed(folder, checkpoint, tmp_path):
    """Return one file with the weights as a function leaves them, beside its configuration."""

    def copy(change, **scheduler):
        shutil.copytree(folder, tmp_path / "part")
        settings = tmp_path / "part" / "scheduler" / "scheduler_config.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | scheduler))
        weights = {name: each.clone() for name, each in change(load_file(checkpoint)).items()}
        save_file(weights, tmp_path / "part.safetensors")
        return tmp_path / "part.safetensors"

    return copy


@pytest.fixture
def small_references(monkeypatch):
    """Qwen-Image-Edit looks at a megapixel of whatever image it is given: here at a 256th of that."""
    from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit, pipeline_qwenimage_edit_plus

    for module in (pipeline_qwenimage_edit, pipeline_qwenimage_edit_plus):
        whole = module.calculate_dimensions
        monkeypatch.setattr(
            module, "calculate_dimensions", lambda area, ratio, whole=whole: whole(area / 256, ratio)
        )
