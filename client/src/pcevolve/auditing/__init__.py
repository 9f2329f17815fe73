"""Re-checks a finished run from its transcript, without the private data and without the ledger.

It may import what is public, ``transcript``, and what made the run's public side, which it makes again, data to compare
them, and pages to show what it verified: ``publish``, ``pages``, ``selectors``, ``encoders``. ``rerun`` runs the loop
once more over the recorded answers, with a gate that compares; ``images`` takes neither's word and looks at what left
by itself. May be imported by ``cli`` and ``interface``.
"""

from __future__ import annotations

from pcevolve.auditing.checks import audit
from pcevolve.auditing.selection import find_encoder
from pcevolve.auditing.whole import Audit
from pcevolve.public.finding import Finding

__all__ = ["Audit", "Finding", "audit", "find_encoder"]
