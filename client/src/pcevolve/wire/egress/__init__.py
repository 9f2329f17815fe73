"""The only way out: the gate builds every request, records it, and lets it leave in its turn.

- ``gate``: ``Gate``, the run's ``UntrustedGenerator``.
- ``questions``: ``OpeningQuestions``: what is asked before there is a plan.
- ``policy``: builds requests by the rulebook's verdict; asks the ledger about each receipt once.
- ``exchange``: records one request at a time before it leaves; ``replies``: stores and names a call's
  outputs.
- ``pace``: when requests leave, and how many at once.
- ``retry``: ``RetryPolicy``: sends the same bytes again while an API is busy.
- ``allowance``: ``Allowance`` and ``Meter``: requests and money.
- ``answers``: limits on an answer's size, model and links.
- ``transport``: requests and answers, and the seam ``Transport``; ``http_transport``: ``HttpTransport``, with
  sockets.
- ``address``: ``Address``: where requests go, by which route, with which key.

This package imports none of its modules: ``auditing`` imports ``policy`` without loading the gate.
"""
