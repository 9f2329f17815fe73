"""Measure how good a synthetic dataset is, on held-out real data.

**Results are private.** They are functions of real images without noise, so no guarantee covers them. They
are stored in the ledger's folder (mode 0700) and shown on the owner's screen. They never enter a release, a
log, a request, or a decision that a request depends on.
"""
