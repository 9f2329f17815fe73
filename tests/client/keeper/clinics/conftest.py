"""An API for runs of several owners."""

from __future__ import annotations

from support.clinics_api import _served, _usual, clinics_api, clinics_heard

__all__ = ["_served", "_usual", "clinics_api", "clinics_heard"]
