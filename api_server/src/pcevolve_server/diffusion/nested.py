"""What pipelines hand to a denoiser: tensors in tuples, lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def changed(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:  # noqa: ANN401 - see above
    """The same with every tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return type(value)({name: changed(each, change) for name, each in value.items()})
    if isinstance(value, tuple | list):
        return type(value)(changed(each, change) for each in value)
    return value
