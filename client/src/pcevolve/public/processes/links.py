"""Where links in a folder lead: a rule for the folder does not cover what lies elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable


def follow_links(paths: Iterable[str]) -> list[str]:
    """Return files and folders, and behind them all that links in the folders lead to, from there on as well."""
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
