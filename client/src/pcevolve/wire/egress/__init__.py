"""The only way out: the gate builds every request, puts it on record, and lets it leave when it is its turn.

- ``gate``: ``Gate``, the run's ``UntrustedGenerator``.
- ``policy``: builds what leaves, from the rulebook's verdict; asks the ledger about each receipt once.
- ``exchange``: one request at a time, on record before it leaves; ``replies``: what a call brings, stored and named.
- ``pace``: when requests leave, and how many at once.
- ``retry``: ``RetryPolicy``: the same bytes again, while an API is busy.
- ``allowance``: ``Allowance`` and ``Meter``: requests and money.
- ``answers``: how large an answer may be, which model may give it, and which of its links may be followed.
- ``transport``: requests and answers, and the seam ``Transport``; ``http_transport``: ``HttpTransport``, with sockets.
- ``address``: ``Address``: where requests go, by which way, with which key.
- ``chat``: ``Chat``: a language model, asked with public words alone; no run knows it.

This package imports none of its modules: ``auditing`` takes ``policy`` and does not load the gate.
"""
