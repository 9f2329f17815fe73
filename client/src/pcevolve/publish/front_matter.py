"""The YAML at the top of a card, by which Hugging Face and its tools know a dataset."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final

from pcevolve.errors import spelled_out
from pcevolve.public.plan import PublicPlan
from pcevolve.publish.provenance import title
from pcevolve.transcript.layout import Form
from pcevolve.transcript.manifest import Guarantee
from pcevolve_shared.reading import parse_json

SIZES: Final = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
LIMITS: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""Images from which on the next category counts."""
SHARDS: Final[dict[Form, str]] = {"parquet": "data/*.parquet", "webdataset": "data/*.tar"}


_TOP: Final = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_FACTS: Final = re.compile(r"""^\s*["']?pcevolve["']?\s*:(.*)$""", re.MULTILINE)


def front_matter(plan: PublicPlan, promised: Guarantee, images: int, form: Form | None) -> str:
    """Licence, size, tags, title and promise of a dataset.

    Args:
        plan: Of the run.
        promised: What the run promises.
        images: How many were released.
        form: The form that the card lies beside; None for images in class folders, which need no telling.
    """
    lines = [
        f"license: {json.dumps(plan.licence)}",
        f"pretty_name: {json.dumps(spelled_out(title(plan)), ensure_ascii=False)}",
        f"size_categories: [{json.dumps(SIZES[bisect_right(LIMITS, images)])}]",
        f'task_categories: ["{plan.modality.kind}-classification"]',
        f"tags: {json.dumps(list(_tags(plan)))}",
        *_configs(form),
        f"pcevolve: {json.dumps(facts(plan, promised))}",
    ]
    return "\n".join(["---", *lines, "---", "", ""])


def facts(plan: PublicPlan, promised: Guarantee) -> dict[str, Any]:
    """What a card states for programs: method, ε, δ, neighbour relation and privacy unit, as the manifest has them."""
    folder = {} if promised.epsilon_folder is None else {"epsilon_folder": promised.epsilon_folder}
    return {
        "method": plan.method,
        "epsilon": promised.epsilon_spent,
        **folder,
        "delta": promised.delta,
        "relation": promised.relation,
        "unit": promised.unit,
    }


def stated_facts(card: str) -> dict[str, Any] | None:
    """The facts at the top of a card; None where there are none, or more than one reading of them."""
    top = _TOP.match(card)
    found = _FACTS.findall(top[1]) if top else []
    try:
        stated = parse_json(found[0], object_pairs_hook=_without_repeats) if len(found) == 1 else None
    except ValueError:
        return None
    return stated if isinstance(stated, dict) else None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object that says everything once.

    Raises:
        ValueError: It has a key twice.
    """
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands there twice")
    return dict(pairs)


def _tags(plan: PublicPlan) -> Iterator[str]:
    """What the dataset is found by, and what must not be overlooked."""
    yield "pcevolve"
    yield "synthetic" if plan.library is None else "public-images"
    yield "differential-privacy" if plan.secure else "insecure-no-privacy"
    if plan.in_process:
        yield "no-boundary"


def _configs(form: Form | None) -> Iterator[str]:
    if form is not None:
        yield "configs:"
        yield "- config_name: default"
        yield f"  data_files: {json.dumps(SHARDS[form])}"
