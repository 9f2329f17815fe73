"""The bundled encoder's network for torch, from the training's folder; for tests only."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_PLACE = Path(__file__).parents[2] / "client" / "training" / "network.py"
_SPEC = importlib.util.spec_from_file_location("training_network", _PLACE)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
BundledNet = _MODULE.BundledNet
