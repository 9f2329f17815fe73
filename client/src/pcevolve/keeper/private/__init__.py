"""Everything that the provider must never see: private images, their embeddings, their votes.

Nothing here opens a socket or writes a log, and no error carries a statistic of the data; errors name only
the owner's own files. The package offers judges (``judge.PrivateJudge``, ``judge.UniformJudge``) and the data
for one. ``listing`` names the files (``layouts`` advises on folders with another layout), ``dataset`` reads
them, ``units`` groups them by a map, ``subsample`` draws some. ``offers`` suggests remedies where their number is
not as declared; ``inspection`` looks at a folder without a run.
"""

from __future__ import annotations

BATCH_IMAGES = 256
"""Images that are read or embedded between two progress reports."""
