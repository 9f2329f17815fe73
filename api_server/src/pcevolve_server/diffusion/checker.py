"""The safety checker that some Stable Diffusion releases carry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image

from pcevolve_server.networks.memory import weight


@dataclass(frozen=True)
class ModelChecker:
    """A pipeline's own ``safety_checker`` and ``feature_extractor``."""

    safety_checker: Any
    feature_extractor: Any

    @property
    def memory(self) -> int:
        """Bytes of its weights."""
        return weight(self.safety_checker)

    def flagged(self, images: Sequence[Image.Image]) -> list[bool]:
        """Return for each image whether the checker refuses it; one by one, so that companions do not matter."""
        return [self._flagged(image) for image in images]

    def _flagged(self, image: Image.Image) -> bool:
        weights = next(self.safety_checker.parameters())
        features = self.feature_extractor([image], return_tensors="pt").pixel_values
        with torch.inference_mode():
            _, flags = self.safety_checker(
                images=np.asarray(image, dtype=np.float32)[None] / 255,
                clip_input=features.to(device=weights.device, dtype=weights.dtype),
            )
        return bool(flags[0])
