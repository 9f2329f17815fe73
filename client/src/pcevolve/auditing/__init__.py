"""Re-checks a finished run from its transcript, without the private data and without the ledger.

It may import what is public, ``transcript``, and what made the run's public side, which it makes again, data to compare
them, and pages to show what it verified: ``publish``, ``pages``, ``selectors``, ``encoders``. It does not take the
gate's word: ``replay``, ``populations`` and ``grammar`` say a second time what ``egress``, ``rules`` and ``evolve`` do.
May be imported by ``cli`` and ``interface``.
"""

from __future__ import annotations

from pcevolve.auditing.checks import audit
from pcevolve.auditing.selection import encoder_of
from pcevolve.auditing.whole import Audit
from pcevolve.public.finding import Finding

__all__ = ["Audit", "Finding", "audit", "encoder_of"]
