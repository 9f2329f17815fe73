"""Re-checks a finished run from its transcript, without the private data and without the ledger.

It makes the run's public side again. ``rerun`` runs the loop once more over the recorded answers, with a gate that
compares; ``second_check`` takes neither's word and looks at what left by itself.
"""

from __future__ import annotations

from pcevolve.auditing.packing import pack
from pcevolve.auditing.rerun import find_encoder
from pcevolve.auditing.verdict import Audit, audit
from pcevolve.public.finding import Finding

__all__ = ["Audit", "Finding", "audit", "find_encoder", "pack"]
