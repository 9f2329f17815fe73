"""Re-checks a finished run from its transcript, without the private data and without the ledger."""

from __future__ import annotations

from .checks import Finding, audit

__all__ = ["Finding", "audit"]
