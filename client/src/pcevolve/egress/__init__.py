"""The only way out: the gate builds every request, puts it on record, and lets it leave when it is its turn.

- ``gate``: ``Gate``, the run's ``Generator``.
- ``policy``: builds what leaves, from the rulebook's verdict; asks the ledger about each receipt once.
- ``paced``: ``PacedJudge``: a judge whose private work takes whole ticks of the schedule.
- ``pace``: ``Pace``: when requests leave.
- ``lanes``: ``Lanes``: several requests of a round under way at once, their answers in the plan's order.
- ``retry``: ``Patience``: the same bytes again, while an API is busy.
- ``allowance``: ``Allowance`` and ``Meter``: requests and money.
- ``transport``: ``Address``, ``HttpTransport``, and the seam ``Transport`` for tests.
- ``in_process``: ``InProcess``: a generator of the owner's in the place of the network; for research.
- ``chat``: ``Chat``: a language model, asked with public words alone; no run knows it.
- ``bounds``, ``links``: how large an answer may be, and which of its links may be followed.

May import: ``rules``, ``providers``, ``public``, ``modality`` for how large an answer may be, ``transcript``, and the
protocols of ``evolution``. May be imported by: ``session``, which puts the parts together, and ``auditing``, which runs
``policy`` again over a record. So this package imports none of its modules: who takes
one of them does not load the gate.
"""
