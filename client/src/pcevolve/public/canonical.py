"""The canonical form of a plan: it omits every field that does not apply to its method, kind of data or other fields.

Such a field would be a free number on a shared record. The declarations of methods define each method's
parameters; the plan's own sizes determine which other fields apply. ``providers.dialect`` removes the fields
that a dialect does not request.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from typing import Any, Final

from pcevolve.public.fields import PlanFields
from pcevolve.public.methods import METHOD_TABLE, SecretEvolution, list_choice_parameters

CONTROLS: Final = frozenset(name for name, entry in METHOD_TABLE.items() if entry.is_control)
"""Methods that never access private data."""
WRITTEN_ELSEWHERE: Final = (
    "method.strength_start", "method.strength_end", "method.secret_prior", "method.secret_bound",
    "method.secret_size",
)  # fmt: skip
"""Options that a plan states in other fields: the strength of each iteration, and the promise about secrets."""
_OF_PRIVATE_DATA: Final = (
    "encoder.name",
    "encoder.weights",
    "data.unit_size",
    "namespaced",
    "privacy.forget_insecure",
    "earlier",
)
"""Fields about how private data are accessed, and about the cumulative privacy loss."""


def list_unused(plan: PlanFields) -> list[str]:
    """List the paths of fields that do not apply to a plan. They must have their defaults, and are not serialised."""
    unused = {path for path in WRITTEN_ELSEWHERE if hasattr(plan.method, path.removeprefix("method."))}
    # A run that starts from a release repeats that release's promise. An audit compares it with the plan of the
    # run that made the release.
    if plan.start is None and not isinstance(plan.method, SecretEvolution):
        unused.add("secrecy")
    if plan.method.name in CONTROLS:
        unused |= {*_OF_PRIVATE_DATA}
    unused |= plan.modality.unused_fields
    if not plan.centre_first:
        unused.add("encoder.frame")
    unused |= {f"method.{name}" for name in _list_inapplicable(plan)}
    if plan.provider.prompts and (
        not plan.method.iterations or plan.keeps_prompts
    ):  # every call has its own prompt
        unused.add("provider.prompt_template")
    return sorted(unused)


def _list_inapplicable(plan: PlanFields) -> set[str]:
    """List the fields that do not apply because of a plan's sizes or prompts."""
    fields: set[str] = set()
    if not plan.method.iterations:
        fields |= {"lookahead", "more", "vary_by", "vary_with", "prototypes", "variations"}
    if plan.method.iterations < 2:  # the first iteration is also the last
        fields.add("threshold_end")
    if not plan.releases:
        fields |= list_choice_parameters(type(plan.method))
    if plan.method.iterations + plan.selects < 2:  # every choice is from a single generation
        fields.add("pool")
    if not plan.provider.prompts or plan.method.vary_by == "prompt":
        fields.add("vary_with")
    return fields & type(plan.method).model_fields.keys()


def drop_unused(values: Mapping[str, Any], drafted: PlanFields) -> dict[str, Any]:
    """Remove values that do not apply to a plan; ``drafted`` is the plan built from them."""
    return drop(values, list_unused(drafted))


def drop(values: Mapping[str, Any], paths: Collection[str]) -> dict[str, Any]:
    """Remove some values of a plan, and every section that becomes empty."""
    kept = {}
    for name, value in values.items():
        own = [path.removeprefix(f"{name}.") for path in paths if path.startswith(f"{name}.")]
        left = drop(value, own) if own else value
        if name not in paths and (left or not own):
            kept[name] = left
    return kept


def find_value(values: object, path: str) -> Any:  # noqa: ANN401 - as many types as there are settings
    """Return the value of a plan at a path such as ``data.window``."""
    return reduce(getattr, path.split("."), values)


def find_unused_values(plan: PlanFields) -> list[str]:
    """List the fields that do not apply to a plan but differ from their defaults."""
    return [path for path in list_unused(plan) if find_value(plan, path) != _find_default(plan, path)]


def find_written(written: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the value at a path of a serialised plan; None if absent."""
    section, _, name = path.rpartition(".")
    return (written.get(section, {}) if section else written).get(name)


def _find_default(plan: PlanFields, path: str) -> object:
    *sections, name = path.split(".")
    return type(reduce(getattr, sections, plan)).model_fields[name].default
