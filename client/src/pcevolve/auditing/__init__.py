"""Check a finished run again from its transcript, without the private data and the ledger.

It repeats the run's public side. ``rerun`` runs the loop over the recorded answers, with a gate that
compares; ``second_check`` relies on neither and checks independently what left.
"""

from __future__ import annotations

from pcevolve.auditing.packing import name_packed, pack
from pcevolve.auditing.rerun import find_encoder
from pcevolve.auditing.verdict import Audit, audit
from pcevolve.public.finding import Finding

__all__ = ["Audit", "Finding", "audit", "find_encoder", "name_packed", "pack"]
