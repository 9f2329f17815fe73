"""How a LoRA is named on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pcevolve_server.errors import SettingsError

_LARGEST_SCALE = 10


@dataclass(frozen=True)
class Lora:
    """A low-rank addition to a model's weights.

    Attributes:
        source: A weight file, a directory or a hub id.
        scale: What it is multiplied by; 0 adds nothing.
    """

    source: str
    scale: float = 1.0

    @classmethod
    def read(cls, text: str) -> Lora:
        """From ``SOURCE`` or ``SOURCE=SCALE``.

        Raises:
            SettingsError: No source, or the scale is out of bounds.
        """
        source, equals, scale = text.rpartition("=")
        if not equals or Path(text).expanduser().exists():
            source, scale = text, "1"
        try:
            found = cls(source, float(scale))
        except ValueError:
            found = cls("")
        if not found.source or not abs(found.scale) <= _LARGEST_SCALE:
            raise SettingsError(
                f"--lora {text}: write SOURCE or SOURCE=SCALE, with a scale from -{_LARGEST_SCALE} to {_LARGEST_SCALE}"
            )
        return found
