"""The YAML at the top of a card, by which Hugging Face and its tools know a dataset."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from pcevolve.errors import spelled_out
from pcevolve.public.plan import PublicPlan
from pcevolve.publish.provenance import title
from pcevolve.transcript.layout import Form

SIZES: Final = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
LIMITS: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""Images from which on the next category counts."""
SHARDS: Final[dict[Form, str]] = {"parquet": "data/*.parquet", "webdataset": "data/*.tar"}

_PROTECTION: Final = {
    "": "differential-privacy",
    "NOT PRIVATE": "not-private",
    "NOT DP": "not-differentially-private",
    "INSECURE": "insecure-no-privacy",
}
"""Tag of a dataset by the mark of its plan."""


def front_matter(plan: PublicPlan, images: int, form: Form | None) -> str:
    """Licence, size, tags and title of a dataset; empty for a run of an earlier version, whose card had none.

    Args:
        plan: Of the run.
        images: How many were released.
        form: The form that the card lies beside; None for images in class folders, which need no telling.
    """
    if plan.licence is None:
        return ""
    lines = [
        f"license: {json.dumps(plan.licence)}",
        f"pretty_name: {json.dumps(spelled_out(title(plan)), ensure_ascii=False)}",
        f"size_categories: [{json.dumps(SIZES[bisect_right(LIMITS, images)])}]",
        f'task_categories: ["{plan.modality.kind}-classification"]',
        f"tags: {json.dumps(list(_tags(plan)))}",
        *_configs(form),
    ]
    return "\n".join(["---", *lines, "---", "", ""])


def _tags(plan: PublicPlan) -> Iterator[str]:
    """What the dataset is found by, and what must not be overlooked."""
    yield "pcevolve"
    yield "synthetic" if plan.library is None else "public-images"
    yield _PROTECTION[plan.mark]
    if plan.in_process:
        yield "no-boundary"


def _configs(form: Form | None) -> Iterator[str]:
    if form is not None:
        yield "configs:"
        yield "- config_name: default"
        yield f"  data_files: {json.dumps(SHARDS[form])}"
