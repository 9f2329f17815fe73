"""Baselines and ablations of the papers, each a file that holds its facts and its mechanism.

None has a guarantee that this code enforces: they run without a gate, a ledger or a record, on public research data
alone (``pcevolve_benchmarks.runner``).
"""
