"""Files that a run hands out: the release folder with manifest and card, and the summary. All follow from the record.

May import what is public, ``transcript``, ``modality`` for pixels, and ``selectors`` and ``dp`` for what is
promised. May be imported by ``auditing``, ``pages`` and ``session``.
"""

from __future__ import annotations

from pcevolve.publish.card import card, facts, stated_facts
from pcevolve.publish.dataset import publish, write_summary
from pcevolve.publish.exports import export, export_files, require_writer, shard_names
from pcevolve.publish.promises import (
    ALARMS,
    NO_BOUNDARY,
    NO_GUARANTEE,
    ON_TRUST,
    as_seen_from_folder,
    assumptions,
    folder_promise,
    found_members,
    how_extended,
    in_all,
    marks,
    promise,
    real_images,
)
from pcevolve.publish.release import Release, classifier, released_image, released_paths

__all__ = [
    "ALARMS",
    "NO_BOUNDARY",
    "NO_GUARANTEE",
    "ON_TRUST",
    "Release",
    "as_seen_from_folder",
    "assumptions",
    "card",
    "classifier",
    "export",
    "export_files",
    "facts",
    "folder_promise",
    "found_members",
    "how_extended",
    "in_all",
    "marks",
    "promise",
    "publish",
    "real_images",
    "released_image",
    "released_paths",
    "require_writer",
    "shard_names",
    "stated_facts",
    "write_summary",
]
