"""What a class may be called: a label is public text in prompts and a folder name in the release."""

from __future__ import annotations

_MAX_BYTES = 200  # a file name may have 255, and copies get suffixes


def is_usable_label(label: str) -> bool:
    """Say whether a label is visible text without blanks around it and one plain path component."""
    return (
        label.isprintable()
        and label == label.strip()
        and not label.startswith(".")
        and not {"/", "\\"} & set(label)
        and 0 < len(label.encode()) <= _MAX_BYTES
    )
