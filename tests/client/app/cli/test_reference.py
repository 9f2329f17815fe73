"""Options written out are what their declarations say."""

from __future__ import annotations

from pathlib import Path

from pcevolve.app.cli.reference import write_keywords, write_reference

ROOT = Path(__file__).parents[4]


def test_the_page_about_options_is_what_their_declarations_say():
    assert (ROOT / "docs" / "options.md").read_text() == write_reference(), "make docs-options writes it"
    of_python = ROOT / "client" / "src" / "pcevolve" / "app" / "interface" / "options.py"
    assert of_python.read_text() == write_keywords(), "make docs-options writes it"
