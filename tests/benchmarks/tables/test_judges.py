"""Judges of the tables that are as PCEvolve's published code has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from pcevolve.errors import ModelError
from pcevolve.evaluation.heads import Training
from pcevolve_benchmarks.tables.judges import table_judges

pytestmark = pytest.mark.models


def test_a_judge_as_published_takes_pixels_that_are_not_normalised_and_its_head_has_no_bias(tmp_path: Path):
    from torchvision import models

    network = models.resnet18()
    torch.save(network.state_dict(), tmp_path / "resnet18.pth")
    network.fc = torch.nn.Identity()
    pixels = np.random.default_rng(0).integers(0, 256, (6, 256, 256, 3), dtype=np.uint8)
    with torch.inference_mode():
        raw = torch.from_numpy(pixels[:1]).permute(0, 3, 1, 2) / 255
        expected = network.eval()(raw)[0].numpy()

    name = f"pcevolve:resnet18={tmp_path / 'resnet18.pth'}"
    first, second = table_judges(("bundled", name), voter="bundled")
    assert (first.name, first.voted, second.name, second.voted) == (name, False, "bundled", True)
    features = first.look([Image.fromarray(each) for each in pixels])
    assert features[0] == pytest.approx(expected, rel=1e-4, abs=1e-5)

    targets = np.arange(6) % 2
    head = first.train(Training(features, targets, 2), 0)
    assert (head.layer.bias, head.scale) == (None, 1.0)
    assert second.train(Training(features, targets, 2), 0).layer.bias is not None


def test_a_judge_whose_weights_are_not_at_hand_says_how_to_get_them_and_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    for name in ("resnet152", "pcevolve:resnet152", "pcevolve:vit-l16"):
        with pytest.raises(ModelError, match="not on this machine: run `pcevolve fetch-encoder"):
            table_judges((name,), None)
