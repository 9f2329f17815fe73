"""The only way to the network: the gate builds every request, records it, and sends it in turn.

- ``gate``: ``Gate``, the run's ``UntrustedGenerator``.
- ``questions``: ``OpeningQuestions``, the requests before there is a plan.
- ``policy``: builds requests by the rulebook's verdict, and has the ledger confirm each receipt once.
- ``exchange``: records one request at a time before it is sent. ``replies``: stores and names a call's
  outputs.
- ``pace``: when requests are sent, and how many at once.
- ``retry``: ``RetryPolicy``, which sends the same bytes again while an API is busy.
- ``allowance``: ``Allowance`` and ``Meter``, the limits on requests and money.
- ``answers``: limits on an answer's size, model and links.
- ``losses``: which answers make an output missing for good.
- ``transport``: requests and answers, and the seam ``Transport``. ``http_transport``: ``HttpTransport``,
  with the sockets.
- ``address``: ``Address``, where requests go, by which route, with which key.

This package imports none of its modules, so that ``auditing`` can import ``policy`` without loading the
gate.
"""
