"""What the site shows beside the files of ``docs/``: pages from the top of the repository, and the API reference.

MkDocs calls the functions whose names begin with ``on_`` while ``make docs`` runs (``hooks`` in ``mkdocs.yml``).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
TOP = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages at the top of the repository, and what the site calls them."""

SOURCES = {"pcevolve": "client/src", "pcevolve_server": "api_server/src", "pcevolve_shared": "shared/src"}
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation's empty section with the pages of the reference."""
    nav: list[dict[str, Any]] = config.nav or []
    section = next(each for each in nav if "Reference" in each)
    section["Reference"] = [{root: [{name: uri(name)} for name in modules(root)]} for root in SOURCES]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are in no file of ``docs/``."""
    for name, page in TOP.items():
        text = relinked((ROOT / name).read_text(encoding="utf-8"), name)
        files.append(File.generated(config, page, content=text))
    for root in SOURCES:
        for module in modules(root):
            files.append(File.generated(config, uri(module), content=reference(module)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links out of ``docs/`` into links to the pages that the site has instead."""
    if page.file.generated_by is not None:
        return markdown
    return relinked(markdown, f"docs/{page.file.src_uri}")


def modules(root: str) -> Iterator[str]:
    """A distribution itself, and each module and package at its top."""
    folder = ROOT / SOURCES[root] / root
    yield root
    for each in sorted(folder.iterdir(), key=lambda path: path.stem):
        if (each.suffix == ".py" and not each.stem.startswith("_")) or (each / "__init__.py").is_file():
            yield f"{root}.{each.stem}"


def reference(module: str) -> str:
    """The page of a module; that of a distribution leaves its modules to their own pages."""
    options = "" if "." in module else "    options: {show_submodules: false}\n"
    return f"# {module}\n\n::: {module}\n{options}"


def uri(module: str) -> str:
    """The page of a module in the site."""
    return f"reference/{module.replace('.', '/')}.md"


def relinked(markdown: str, path: str) -> str:
    """A page's text with links that lead to the site's pages.

    Args:
        markdown: As it is in the repository, where links lead to files.
        path: Of the page in the repository.

    Returns:
        The same text; of a link to a file that the site does not have, only its words are left.
    """
    here = TOP.get(path) or posixpath.relpath(path, "docs")

    def replaced(match: re.Match[str]) -> str:
        target, hash_, anchor = match["target"].partition("#")
        if not target or ":" in target:
            return match[0]
        found = in_site(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)))
        if found is None:
            return match["text"]
        relative = posixpath.relpath(found, posixpath.dirname(here) or ".")
        return f"{match['image']}[{match['text']}]({relative}{hash_}{anchor})"

    return LINK.sub(replaced, markdown)


def in_site(path: str) -> str | None:
    """Where the site has a file or folder of the repository, if it does."""
    if path in TOP:
        return TOP[path]
    if not path.startswith("docs/"):
        return None
    inside = posixpath.relpath(path, "docs")
    return f"{inside}/README.md" if (ROOT / path).is_dir() else inside
