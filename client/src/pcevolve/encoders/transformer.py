"""Published encoders of texts, as sentence-transformers are: a network of transformers, averaged over tokens.

Named ``transformer:ID``, where ID is a hub's. Every text is embedded by itself, so its embedding depends on it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from pcevolve.encoders import TRANSFORMER
from pcevolve.encoders.frames import PublicFrame
from pcevolve.modality.texts import Text
from pcevolve.pretrained import load_pretrained

LONGEST: Final = 512
"""Tokens of a text that are read, at most."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TransformerEncoder:
    """An ``Encoder`` of texts."""

    name: str
    dimension: int
    network: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    device: torch.device
    frame: PublicFrame | None = None

    def embed(self, texts: Sequence[Text | None]) -> FloatArray:
        """Return float64 ``(texts, dimension)`` that float32 holds, rows of length 1; NaN without a text or a token."""
        return np.array([self._one(each) for each in texts], dtype=np.float64).reshape(-1, self.dimension)

    @torch.inference_mode()
    def _one(self, text: Text | None) -> FloatArray:
        nothing: FloatArray = np.full(self.dimension, np.nan)
        longest = min(LONGEST, int(getattr(self.tokenizer, "model_max_length", LONGEST)))
        found = self.tokenizer(text or "", truncation=True, max_length=longest, return_tensors="pt")
        if not text or not found["input_ids"].numel():
            return nothing
        states = self.network(
            **{name: each.to(self.device) for name, each in found.items()}
        ).last_hidden_state
        mean = states[0].double().mean(dim=0)
        length = float(torch.linalg.vector_norm(mean))
        embedding: FloatArray = (mean / length).float().double().cpu().numpy() if length else nothing
        return embedding


def load_transformer(name: str, weights: str | None, device: torch.device) -> TransformerEncoder:
    """Load from a directory, or a hub's model from its library's cache; nothing is downloaded.

    Raises:
        ModelError: The library or the files are not at hand.
    """
    hub_id = name.removeprefix(TRANSFORMER)
    who, option = f"encoder {name}", "--set encoder.weights="
    network, tokenizer = load_pretrained(who, weights or hub_id, hub_id, option, "AutoModel", "AutoTokenizer")
    dimension = int(network.config.hidden_size)
    return TransformerEncoder(name, dimension, network.float().to(device), tokenizer, device)
