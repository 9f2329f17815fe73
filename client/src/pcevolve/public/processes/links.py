"""Follow links in a folder: a rule for the folder does not cover their targets elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable


def follow_links(paths: Iterable[str]) -> list[str]:
    """Return files and folders, and all targets of links in the folders, recursively."""
    found: dict[str, None] = {}
    waiting = list(reversed([*paths]))
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = None
        for folder, folders, files in os.walk(path):
            entries = (os.path.join(folder, name) for name in sorted((*folders, *files)))  # noqa: PTH118
            targets = [os.path.realpath(each) for each in entries if os.path.islink(each)]  # noqa: PTH114
            waiting += [each for each in reversed(targets) if os.path.exists(each)]  # noqa: PTH110
    return [*found]
