"""The former place of ``parse_epsilon``, for those that still ask here."""

from __future__ import annotations

from .calibration import parse_epsilon

__all__ = ["parse_epsilon"]
