"""A third modality, rows of two numbers, as somebody would add it: files of its own, and a line in three tables.

The files are no part of the tests: a copy of the client gets them.
"""

from __future__ import annotations

from pathlib import Path

FILES = {
    place: Path(__file__).with_name(f"{name}.py")
    for name, place in (
        ("modality", "public/modality/rows.py"),
        ("medium", "public/media/rows.py"),
        ("keeper", "keeper/rows.py"),
        ("dialect", "wire/providers/rows.py"),
        ("encoder", "public/encoders/rows.py"),
    )
}
"""Where each file goes."""
ABILITIES = (
    '    Abilities("rows", "rows:RowsDialect", frozenset({"create", "vary", "strength", "seed", "batch"}), '
    'most=8, makes="row"),\n'
)
LINES = {
    "public/modality/__init__.py": [
        ("(Images, Texts)\n", "(Images, Texts, Rows)\n"),
        (
            "from pcevolve.public.modality.texts import Texts\n",
            "from pcevolve.public.modality.rows import Rows\nfrom pcevolve.public.modality.texts import Texts\n",
        ),
    ],
    "public/dialects.py": [("_ALL: Final = (\n", f"_ALL: Final = (\n{ABILITIES}")],
    "public/encoders/__init__.py": [
        (
            "    WORDS: ShippedEncoder(",
            '    "numbers": ShippedEncoder("rows:load_rows", (), embeds="row"),\n    WORDS: ShippedEncoder(',
        )
    ],
}
"""What becomes of which text, by file."""
PLACES = {
    *("public/modality", "public/media", "keeper"),
    *("wire/providers", "public/dialects.py", "public/encoders"),
}
"""All that a third modality touches."""
