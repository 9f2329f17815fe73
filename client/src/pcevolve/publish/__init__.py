"""Files that a run hands out, all from its record: the release folder with manifest and card, and the summary."""

from __future__ import annotations

from pcevolve.publish.card import collect_facts, read_facts, write_card
from pcevolve.publish.dataset import publish, write_summary
from pcevolve.publish.exports import export, make_export_files, name_shards, require_writer
from pcevolve.publish.promises import (
    ALARMS,
    NO_BOUNDARY,
    NO_GUARANTEE,
    ON_TRUST,
    count_found_members,
    describe_extension,
    describe_library,
    list_assumptions,
    list_marks,
    scale_to_folder,
    state_cumulative_loss,
    state_folder_promise,
    state_promise,
)
from pcevolve.publish.release import Release, describe_file, make_classifier, name_files

__all__ = [
    "ALARMS",
    "NO_BOUNDARY",
    "NO_GUARANTEE",
    "ON_TRUST",
    "Release",
    "collect_facts",
    "count_found_members",
    "describe_extension",
    "describe_file",
    "describe_library",
    "export",
    "list_assumptions",
    "list_marks",
    "make_classifier",
    "make_export_files",
    "name_files",
    "name_shards",
    "publish",
    "read_facts",
    "require_writer",
    "scale_to_folder",
    "state_cumulative_loss",
    "state_folder_promise",
    "state_promise",
    "write_card",
    "write_summary",
]
