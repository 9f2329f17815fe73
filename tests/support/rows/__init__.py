"""A third modality, rows of two numbers, as somebody would add it: files of its own, and a line in three tables.

``install`` puts it into a copy of the client's sources. The files are no part of the tests: they are read as text.
"""

from __future__ import annotations

import shutil
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "client" / "src" / "pcevolve"
FILES = {
    "modality": "public/modality/rows.py",
    "medium": "public/media/rows.py",
    "keeper": "keeper/rows.py",
    "dialect": "wire/providers/rows.py",
    "encoder": "public/encoders/rows.py",
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


def install(root: Path) -> None:
    """Copy the client's sources to a folder that a search for modules begins in, and add rows to them."""
    made = root / "pcevolve"
    shutil.copytree(SOURCES, made, ignore=shutil.ignore_patterns("__pycache__"))
    for name, place in FILES.items():
        shutil.copyfile(Path(__file__).with_name(f"{name}.py"), made / place)
    for place, changes in LINES.items():
        text = (made / place).read_text(encoding="utf-8")
        for before, after in changes:
            assert text.count(before) == 1, f"{place} has no line {before!r}"
            text = text.replace(before, after)
        (made / place).write_text(text, encoding="utf-8")
