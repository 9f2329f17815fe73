"""Everything that the provider must never see: private images, their embeddings, their votes.

Nothing here opens a socket or writes a log. No error contains a statistic of the data; errors name only the
owner's own files. The package offers judges (``judge.PrivateJudge``, ``judge.UniformJudge``) and their
data. ``listing`` names the files, and ``layouts`` advises on folders with another layout. ``dataset`` reads
the files, ``units`` groups the images by a map, and ``subsample`` draws some of the units. ``offers``
suggests remedies if the number of units is not as declared. ``inspection`` inspects a folder without a run.
"""

from __future__ import annotations

BATCH_IMAGES = 256
"""Number of images that are read or embedded between two progress reports."""
