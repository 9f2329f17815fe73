"""What an audit takes on the owner's word: statements in a record that nothing else in it confirms.

A lying client may put there whatever the form allows. All other fields of a plan show in requests, receipts
and choices, or do not apply to this method and these sizes, and are then absent (``public.canonical``).
"""

from __future__ import annotations

from typing import Any, Final

from pcevolve.public.canonical import find_written, list_unused
from pcevolve.public.methods import list_choice_parameters
from pcevolve.public.plan import PublicPlan
from pcevolve.public.transcript.reader import RunReader

_CLAIMED: Final = (
    *(
        "run_id",
        "output.licence",
        "data.words",
        "unit",
        "namespaced",
        "provider.operator",
        "provider.retention",
    ),
    *("provider.seed", "provider.answered_by", "provider.image_hosts", "provider.batch", "provider.at_once"),
    *("data.domain", "data.shots", "data.subsample", "data.unit_size", "data.window"),
    *("privacy.epsilon", "privacy.delta", "privacy.relation", "privacy.forget_insecure"),
    *("noise", "earlier", "secrecy", "method.name", "method.min_usable"),
    *("confinement", "start"),
)


def list_claims(plan: PublicPlan) -> dict[str, Any]:
    """Return the recorded values of a plan that the record alone does not prove, by name."""
    unused, written = {*list_unused(plan)}, plan.model_dump(mode="json")
    claimed: dict[str, Any] = {path: find_written(written, path) for path in _CLAIMED if path not in unused}
    if plan.clinics is not None:
        # Signatures prove the owners; who may collude, and how many hold one unit's data, is their word.
        claimed["clinics"] = written["clinics"]
    own = list_choice_parameters(type(plan.method))
    claimed |= {f"method.{name}": value for name, value in written["method"].items() if name in own}
    return claimed | {path: find_written(written, path) for path in plan.modality.list_unproven()}


def list_claims_of(run: RunReader) -> dict[str, Any]:
    """Return the claims of a run's plan, and of the route to the API; empty without a plan."""
    if run.plan is None:
        return {}
    opened = run.opened
    return {**list_claims(run.plan), "authority": opened.authority, "proxied": opened.proxied}
