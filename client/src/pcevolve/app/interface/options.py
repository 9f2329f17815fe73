"""Keywords of ``pcevolve.evolve`` and ``pcevolve.plan``, one per option, generated from the declarations.

``make docs-options`` writes this file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias, TypedDict

AnyPath: TypeAlias = str | os.PathLike[str]
Exact: TypeAlias = float | str | Fraction


class RunOptions(TypedDict, total=False):
    """All options of a run except the parameters of ``evolve``; docs/options.md explains each."""

    test: AnyPath | None
    shots: int
    unit_map: AnyPath | None
    subsample: int | None
    unit_size: int | None
    window: str | None
    from_run: AnyPath | None
    subsample_seed: int | None
    unit_column: str | None
    unit_namespace: str | None
    words: Mapping[str, str] | AnyPath | None
    unlabelled: bool
    text_column: str | None
    label_column: str | None
    secrets: AnyPath | None
    secret_columns: Sequence[str]
    delta: float | None
    relation: Literal["replace-one", "add-remove"]
    forget_insecure: bool
    pad_selection: float | None
    pace: float
    ledger: AnyPath | None
    lifetime_epsilon: Exact | None
    insecure_noise_seed: int | None
    method: Literal["auto", "aug-pe", "dp-means", "jvem", "pcevolve", "pe", "pe-em", "random", "secpe", "t2i"]
    candidates: int
    iterations: int | None
    calibration: Literal["tight", "published"]
    initial: int | None
    prototypes: int | None
    min_usable: float
    lookahead: int
    more: int
    pool: Literal["latest", "survivors", "all"] | None
    keep: Literal["last", "selected"] | None
    appearance: Literal["as-is", "matched", "auto"] | None
    vary_by: Literal["image", "prompt"]
    vary_with: Literal["own prompt", "template"]
    strengths: Sequence[float]
    strength_start: float | None
    strength_end: float | None
    threshold: float
    threshold_end: float | None
    votes: int
    variations: int | None
    selection: Literal["rank", "prob"]
    tau: float
    class_counts: bool
    secret_prior: float | None
    secret_bound: float | None
    secret_size: int | None
    cells: int | None
    max_cost: float | None
    yes: bool
    answered_by: str | None
    prompt_template: str
    batch: int
    seed: int | None
    at_once: int | None
    image_hosts: Sequence[str]
    workflow: str | None
    operator: str | None
    retention: str | None
    negative_prompt: str | None
    guidance: float | None
    steps: int | None
    sampler: str | None
    adapter: str | None
    adapter_scale: float | None
    tokens: int | None
    temperature: float | None
    fields: Sequence[str]
    price: float | None
    max_requests: int | None
    size: int | None
    greeting: bool
    ca_file: AnyPath | None
    proxy: str | None
    timeout: float
    patience: float
    first_contact: float
    prompts: AnyPath | None
    encoder: str
    device: str
    encoder_weights: AnyPath | None
    licence: str
    formats: Sequence[Literal["parquet", "webdataset", "jsonl", "csv"]]


class PlanOptions(TypedDict, total=False):
    """All options of ``plan`` except the method; ``pcevolve budget plan --help`` explains each."""

    epsilon: Exact | None
    noise_multiplier: Exact | None
    delta: float | None
    iterations: int | None
    classes: int
    shots: int
    candidates: int
    relation: Literal["replace-one", "add-remove"]
    calibration: Literal["tight", "published"]
    appearance: Literal["as-is", "matched", "auto"] | None
    initial: int | None
    cells: int | None
    secret_prior: float | None
    secret_bound: float | None
    secret_size: int | None
