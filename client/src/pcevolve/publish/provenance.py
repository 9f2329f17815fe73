"""Whose images a release holds, in words: the provider's word, quoted and never vouched for."""

from __future__ import annotations

from collections.abc import Callable

from pcevolve.public.library import Library, LicenceFile
from pcevolve.public.plan import PublicPlan

_MOST_NAMED = 3  # licences in one sentence


def title(plan: PublicPlan) -> str:
    """What a dataset is called: nobody shall take real images for synthetic ones."""
    return f"{'Synthetic dataset' if plan.library is None else 'Dataset of public images'}: {plan.domain}"


def real_images(library: Library, spelled: Callable[[str], str] = str) -> str:
    """What the provider says its images are, in one sentence without its full stop.

    Args:
        library: In the provider's words.
        spelled: Keeps those words from being taken for markup.
    """
    names = [f"{spelled(each.name)} ({each.images:,})" for each in library.licences]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    files = ", ".join(spelled(each.name) for each in library.files)
    under = (
        (f"; licences: {', '.join(names[:_MOST_NAMED])}{more}" if names else "")
        + (f"; licence file: {files}" if files else "")
    )  # fmt: skip
    return (
        f"the provider says that they are real public ones, of a library of {library.images:,}"
        f"{under or ', and names no licence'}"
    )


def library_section(library: Library | None) -> str:
    """The card's section about licences; empty where the images were generated."""
    if library is None:
        return ""
    counts = "".join(f"- {each.images:,} images: {as_code(each.name)}\n" for each in library.licences)
    files = "".join(_quoted(each) for each in library.files)
    return (
        "## Whose images these are\n\nWhat follows are the provider's own words, which nobody has checked. Whoever "
        "passes the images on has to keep to their licences.\n\n"
        f"{counts}{chr(10) if counts else ''}{files or 'The library came without a licence file.' + 2 * chr(10)}"
    )


def _quoted(file: LicenceFile) -> str:
    """A file as an indented block, of which Markdown takes nothing for markup."""
    lines = "".join(f"    {line}\n" for line in file.text.split("\n"))
    return f"{as_code(file.name)}, SHA-256 `{file.sha256}`, as far as the provider sent it:\n\n{lines}\n"


def as_code(text: str) -> str:
    """Text as a code span: without what would end it."""
    return f"`{text.replace('`', chr(39)) or ' '}`"
