"""The record of a run: everything that crossed the wire, and the names of all that lies in a run's folder.

``records`` are the lines, and the manifest that the release adds; ``log`` is their chain, ``bodies`` what they carried,
``traffic`` what they say when they are put together. A run is written by ``Transcript`` and read by ``RunReader``, and
by nothing else.
"""

from __future__ import annotations

from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.log import Entry, Transcript
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Manifest
from pcevolve.public.transcript.traffic import Attempt, Counts, RecordedReceipt, Traffic

__all__ = [
    "Attempt",
    "Bodies",
    "Counts",
    "Entry",
    "Manifest",
    "RecordedReceipt",
    "RunLayout",
    "RunReader",
    "Traffic",
    "Transcript",
]
