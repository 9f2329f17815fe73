"""Names of models, and of LoRAs, that were distilled for few steps without guidance: their files say nothing of it.

The server recommends settings by them.
"""

from __future__ import annotations

import re
from typing import Final

_FEW: Final = re.compile(r"turbo|lightning|hyper[-_ ]?(?:sd|flux)|(?<![a-z])dmd2?(?![a-z])")
_STEPS: Final = re.compile(r"(?<!\d)(\d{1,2})[-_ ]?steps?(?![a-z])")
_MOST_STEPS: Final = 16


def is_few_step(name: str) -> bool:
    """True if a name, in small letters, is that of a model, or a LoRA, for few steps without guidance."""
    return _FEW.search(name) is not None


def steps_in(name: str) -> int | None:
    """Steps that a name says the model is for, as in ``sdxl_lightning_8step``."""
    found = _STEPS.search(name)
    return int(found[1]) if found and 1 <= int(found[1]) <= _MOST_STEPS else None
