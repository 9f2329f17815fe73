"""From the options of a run to its public plan, by public facts only."""

from __future__ import annotations

from pydantic import ValidationError

from pcevolve.encoders import weights_digest
from pcevolve.errors import UsageError
from pcevolve.methods.method import AppearanceMode, Method, Schedule
from pcevolve.providers.dialect import ModelSize
from pcevolve.public.plan import TEMPLATE, UNLABELLED_TEMPLATE, Earlier, PublicPlan
from pcevolve.run.components import Parts
from pcevolve.run.settings import RunSettings, first_fault

NOTHING_EARLIER = Earlier()


def resolved_plan(
    settings: RunSettings, parts: Parts, run_id: str, size: ModelSize, earlier: Earlier = NOTHING_EARLIER
) -> PublicPlan:
    """Resolve the options into the public plan, from public facts only.

    Args:
        settings: The options.
        parts: What the run is made of.
        run_id: Public id of the run.
        size: Pixels of the API's images.
        earlier: What the provider had seen when the run began; no part of any price.

    Raises:
        UsageError: An option is out of bounds.
    """
    if not parts.iterations and (settings.lookahead or settings.more):
        raise UsageError(
            "--lookahead and --more need rounds of variation, which this run has not: give --iterations"
        )
    shared = set(PublicPlan.model_fields) & set(RunSettings.model_fields)
    method, chosen = parts.method, settings.model_dump(include=shared, exclude_none=True)
    values = chosen | {
        "run_id": run_id,
        "run_seed": settings.seed,
        "method": method.name,
        "labels": parts.data.labels,
        "unit": parts.data.unit_name,
        "iterations": parts.iterations,
        "strengths": _schedule(settings, method).over(parts.iterations),
        "initial": settings.initial or settings.candidates * method.initial,
        "prototypes": settings.prototypes or method.prototypes_for(settings.candidates),
        "pool": settings.pool or method.pool,
        "keep": settings.keep or method.keep,
        "appearance": settings.appearance or _appearance(settings, parts),
        "threshold": method.threshold if settings.threshold is None else settings.threshold,
        "prompt_template": _template(settings),
        "width": settings.size or size.width,
        "height": settings.size or size.height,
        "batch": min(settings.batch, parts.dialect.most),
        "epsilon": str(parts.limits.run.epsilon),
        "delta": parts.limits.run.delta,
        "noise": parts.noise.source,
        "weights": None if settings.encoder_weights is None else weights_digest(settings.encoder_weights),
        "forgets_insecure": settings.forget_insecure,
        "earlier": earlier,
    }
    try:
        return PublicPlan(**values)
    except ValidationError as error:
        raise UsageError(first_fault(error)) from None


def _appearance(settings: RunSettings, parts: Parts) -> AppearanceMode:
    """The method's own; which look is nearer is settled when a dataset is selected, and else it is matched."""
    left_open = parts.appearance == "auto" and (settings.keep or parts.method.keep) != "selected"
    return "matched" if left_open else parts.appearance


def _schedule(settings: RunSettings, method: Method) -> Schedule:
    """The method's strengths, unless the user names others."""
    own, start, end = method.schedule, settings.strength_start, settings.strength_end
    if start is None and end is None:
        return own
    return Schedule(own.start if start is None else start, own.end if end is None else end, own.step)


def _template(settings: RunSettings) -> str:
    """The prompt; images without labels have nothing but the domain's words."""
    unlabelled = settings.unlabelled and settings.prompt_template == TEMPLATE
    return UNLABELLED_TEMPLATE if unlabelled else settings.prompt_template
