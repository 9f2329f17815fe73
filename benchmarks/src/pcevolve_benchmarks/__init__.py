"""Research on public data: the papers' tables, loaders of their datasets, and what has no guarantee.

Not published, and imported by nothing. The client's methods run here as they run for everybody, through the gate.
"""
