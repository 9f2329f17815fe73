"""Determine whether the UNet of a model in one file predicts noise or velocities. The file has no configuration.

Velocities are defined by Salimans and Ho 2022, "Progressive Distillation" (arXiv 2202.00512). Trainers that
finetune SDXL to predict velocities leave an empty tensor called ``v_pred`` in the file. For a schedule without a
signal at its end (Lin et al. 2023, arXiv 2305.08891) they add ``ztsnr``. Stable Diffusion 2 exists in both kinds,
and its files do not show the kind. diffusers takes every file for the larger model, which predicts velocities.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

import torch
from diffusers import DiffusionPipeline, EulerDiscreteScheduler, UNet2DConditionModel

from pcevolve_server.errors import ModelLoadError

logger = logging.getLogger(__name__)

_NOISE, _VELOCITY = "epsilon", "v_prediction"
_OTHER_LEVELS: Final = ("edm_vpred.", "edm_mean", "edm_std")
"""Tensors of models with other noise levels (CosXL, Playground 2.5). This server would draw noise with them."""
_SAME: Final = 0.7
"""Smallest correlation between pure noise and its prediction at which the UNet is taken to predict noise.

The correlation is about 1 for noise, and about 0 for velocities.
"""

_SIDE_OF_VELOCITIES, _SIDE_OF_NOISE = 96, 64
"""Side of the latents with which Stable Diffusion 2 was trained, for each kind."""
_SIDE: Final = 32
"""Side of the latents in the test. Every such UNet accepts this size."""


def set_prediction_type(pipeline: DiffusionPipeline, names: Collection[str]) -> None:
    """Set a pipeline's scheduler to the kind of prediction that the file's tensors, or a test of the UNet, show.

    Args:
        names: Names of the tensors in the file.

    Raises:
        ModelLoadError: The UNet was trained on noise levels that no scheduler here has.
    """
    unet = getattr(pipeline, "unet", None)
    if not isinstance(unet, UNet2DConditionModel):
        return
    if any(each.startswith(_OTHER_LEVELS) for each in names):
        raise ModelLoadError(
            "it was trained on the noise levels of EDM, like CosXL and Playground 2.5, and this"
            " server does not serve such models from a single file"
        )
    own = pipeline.scheduler
    told = own.config.get("prediction_type")
    found = told
    if "v_pred" in names:
        found = _VELOCITY
    elif told == _VELOCITY and unet.config.addition_embed_type is None and predicts_noise(unet):
        found = _NOISE
        if unet.config.sample_size == _SIDE_OF_VELOCITIES:  # the configuration is the larger one's
            unet.register_to_config(sample_size=_SIDE_OF_NOISE)
    kind, changes = type(own), {"prediction_type": found}
    if "ztsnr" in names:  # it begins where there is no signal, or not at all
        changes |= {"rescale_betas_zero_snr": True, "timestep_spacing": "trailing"}
        kind = kind if "rescale_betas_zero_snr" in own.config else EulerDiscreteScheduler
    if any(own.config.get(name) != value for name, value in changes.items()):
        pipeline.scheduler = kind.from_config(own.config, **changes)
        logger.info("the prediction type of the file's UNet was determined", extra=changes)


def predicts_noise(unet: UNet2DConditionModel) -> bool:
    """True if a UNet's answer to pure noise is that noise. A UNet that predicts velocities answers with an image."""
    shape = (1, unet.config.in_channels, _SIDE, _SIDE)
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(unet.device, unet.dtype)
    across = unet.config.cross_attention_dim
    words = torch.zeros((1, 1, across), device=unet.device, dtype=unet.dtype)
    with torch.inference_mode():
        said = unet(noise, 999, words).sample
    both = torch.stack([noise.float().flatten(), said.float().flatten()])
    return bool(torch.corrcoef(both)[0, 1] > _SAME)
