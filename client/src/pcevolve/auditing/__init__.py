"""Check a finished run again from its transcript, without the private data and the ledger.

An audit repeats the public side of the run. ``rerun`` runs the loop over the recorded answers, with a gate that
compares requests instead of sending them. ``second_check`` uses neither loop nor gate, and checks independently
what was sent.
"""

from __future__ import annotations

from pcevolve.auditing.packing import name_packed, pack
from pcevolve.auditing.rerun import find_encoder
from pcevolve.auditing.verdict import Audit, audit
from pcevolve.public.finding import Finding

__all__ = ["Audit", "Finding", "audit", "find_encoder", "name_packed", "pack"]
