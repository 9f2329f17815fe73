"""Everything that the provider must never see: private images, their embeddings, their votes.

Nothing here opens a socket or writes a log, and no error carries a statistic of the data; errors name only
the owner's own files. What it offers is a judge (``judge.PrivateJudge``, ``judge.UniformJudge``) and the data that one
is made from: ``listing`` names the files (``layouts``: what to give where a folder has another layout), ``dataset``
reads them, ``units`` groups them where a map says so, ``subsample`` draws some, ``embedding`` embeds them; ``shots``
says whether there are as many as was said, ``offers`` what mends it; ``inspection`` looks at a folder without a run.
"""

from __future__ import annotations

BATCH_IMAGES = 256
"""Images that are read or embedded before it is told again."""
