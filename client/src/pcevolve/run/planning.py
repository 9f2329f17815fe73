"""From the options of a run to its public plan, by public facts only."""

from __future__ import annotations

from pcevolve.encoders import frame_digest, named_weights
from pcevolve.errors import UsageError
from pcevolve.methods.method import AppearanceMode, Method, Schedule
from pcevolve.providers.dialect import ModelSize
from pcevolve.public.library import Library
from pcevolve.public.options import checked
from pcevolve.public.plan import TEMPLATE, UNLABELLED_TEMPLATE, Earlier, PublicPlan
from pcevolve.run.components import Components
from pcevolve.run.settings import RunSettings

NOTHING_EARLIER = Earlier()


def resolved_plan(
    components: Components,
    run_id: str,
    size: ModelSize,
    earlier: Earlier = NOTHING_EARLIER,
    library: Library | None = None,
) -> PublicPlan:
    """Resolve the options into the public plan, from public facts only.

    Args:
        components: What the run is made of, its options among it.
        run_id: Public id of the run.
        size: Pixels of the API's images.
        earlier: What the provider had seen when the run began; no part of any price.
        library: What the API says of its images, if they are real public ones; no part of any request.

    Raises:
        UsageError: An option is out of bounds.
    """
    settings, method = components.settings, components.method
    if not components.iterations and (settings.lookahead or settings.more):
        raise UsageError(
            "--lookahead and --more need rounds of variation, which this run has not: give --iterations"
        )
    shared = set(PublicPlan.model_fields) & set(RunSettings.model_fields)
    values = settings.model_dump(include=shared, exclude_none=True) | {
        "run_id": run_id,
        "run_seed": settings.seed,
        "method": method.name,
        "labels": components.data.labels,
        "unit": components.data.unit_name,
        "iterations": components.iterations,
        "strengths": _schedule(settings, method).over(components.iterations),
        "initial": settings.initial or settings.candidates * method.initial,
        "prototypes": settings.prototypes or method.prototypes_for(settings.candidates),
        "pool": settings.pool or method.pool,
        "keep": settings.keep or method.keep,
        "appearance": settings.appearance or _appearance(components),
        "centre_first": bool(method.centre_first),
        "in_turns": True,
        "threshold": method.threshold if settings.threshold is None else settings.threshold,
        "prompt_template": _template(settings),
        "width": settings.size or size.width,
        "height": settings.size or size.height,
        "batch": min(settings.batch, components.dialect.most),
        "epsilon": str(components.limits.run.epsilon),
        "delta": components.limits.run.delta,
        "noise": components.noise.source,
        "weights": named_weights(settings.encoder, settings.encoder_weights),
        "frame": frame_digest(settings.encoder, settings.encoder_weights) if method.centre_first else None,
        "forgets_insecure": settings.forget_insecure,
        "earlier": earlier,
        "library": library,
    }
    return checked(PublicPlan, values)


def _appearance(components: Components) -> AppearanceMode:
    """The method's own; which look is nearer is settled when a dataset is selected, and else it is matched."""
    keep = components.settings.keep or components.method.keep
    left_open = components.appearance == "auto" and keep != "selected"
    return "matched" if left_open else components.appearance


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
