"""Language models on the owner's machine that write prompts (LE). They get public words alone, as any other would.

May import ``errors``. Imported by ``session``.
"""

from __future__ import annotations
