"""Everything that the provider must never see: private images, their embeddings, their votes.

Nothing here opens a socket to a provider or writes a log. A private type's ``repr`` is its class name, and no error
carries a statistic of the data; errors name only the owner's own files. What it offers is a judge
(``judge.PrivateJudge``, ``judge.UniformJudge``) and the data that one is made from: ``listing`` names the files,
``subsample`` draws some, ``dataset`` reads them, ``units`` groups them, ``embedding`` embeds them; ``inspection`` looks
at a folder without a run.
"""

from __future__ import annotations

BATCH_IMAGES = 256
"""Images that are read or embedded before it is told again."""
