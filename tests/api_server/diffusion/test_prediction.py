"""What a UNet predicts is known whatever its configuration says."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import torch

from pcevolve_server.model_settings import Batching
from support.tiny_model import load, tiny_unet

pytestmark = pytest.mark.models

PLAIN = {"device": "cpu", "threads": 1, "batching": Batching.MERGE}


def predicts(model):
    config = load(model=str(model), **PLAIN).scheduler.config
    return config.prediction_type, config.get("rescale_betas_zero_snr", False), config.timestep_spacing


def test_what_a_file_says_of_what_its_unet_predicts_is_read(changed):
    """As finetunes of SDXL to velocities say it, on a schedule without a signal at its end."""
    marks = {"v_pred": torch.zeros(1), "ztsnr": torch.zeros(1)}
    assert predicts(changed(lambda weights: weights | marks)) == ("v_prediction", True, "trailing")


def test_a_unet_that_predicts_noise_is_known_whatever_its_configuration_says(changed, monkeypatch):
    """As of Stable Diffusion 2, of which there are both kinds and one configuration."""
    from pcevolve_server.diffusion import prediction

    model = changed(lambda weights: weights, prediction_type="v_prediction")
    config = model.with_suffix("") / "unet" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"sample_size": 96}))
    found = load(model=str(model), **PLAIN)
    assert (found.scheduler.config.prediction_type, found.info.size.width) == ("v_prediction", 4 * 96)
    monkeypatch.setattr(prediction, "predicts_noise", lambda unet: True)
    found = load(model=str(model), **PLAIN)  # which was trained with smaller images
    assert (found.scheduler.config.prediction_type, found.info.size.width) == ("epsilon", 4 * 64)


@pytest.mark.parametrize(("share", "noise"), [(1.0, True), (0.9, True), (0.0, False), (-1.0, False)])
def test_noise_is_told_from_velocities_by_what_a_unet_says_of_pure_noise(share, noise):
    from pcevolve_server.diffusion.prediction import predicts_noise

    unet = tiny_unet()
    other = torch.randn((1, 4, 32, 32), generator=torch.Generator().manual_seed(1))
    unet.forward = lambda noisy, *_: SimpleNamespace(sample=share * noisy + (1 - share**2) ** 0.5 * other)
    assert predicts_noise(unet) is noise
