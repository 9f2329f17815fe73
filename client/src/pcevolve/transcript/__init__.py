"""The record of a run: everything that crossed the wire, and the names of all that lies in a run's folder.

``records`` are the lines, ``log`` their chain, ``bodies`` what they carried, ``traffic`` what they say when they are
put together, ``manifest`` what the release adds. A run is written by ``Transcript`` and read by ``RunReader``, and by
nothing else.
"""

from __future__ import annotations

from pcevolve.transcript.bodies import Bodies
from pcevolve.transcript.layout import RunLayout
from pcevolve.transcript.log import Entry, Transcript
from pcevolve.transcript.manifest import Manifest
from pcevolve.transcript.reader import RunReader
from pcevolve.transcript.traffic import Attempt, Counts, RecordedReceipt, Traffic

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
