"""From the options of a run to its public plan, by public facts only."""

from __future__ import annotations

from pathlib import Path

from pcevolve.encoders import frame_digest, named_weights
from pcevolve.errors import UsageError
from pcevolve.methods import METHODS
from pcevolve.methods.cells import usual_cells
from pcevolve.methods.method import AppearanceMode, Method, Schedule, first_selection
from pcevolve.providers.dialect import Advice, ModelSize, asks_for
from pcevolve.public.fields import TEMPLATE, Earlier
from pcevolve.public.library import Library
from pcevolve.public.options import checked, flag
from pcevolve.public.plan import PublicPlan
from pcevolve.public.secrecy import Secrecy
from pcevolve.public.settings import UNKNOWN_LICENCE
from pcevolve.public.wordings import USUAL
from pcevolve.run.components import Components
from pcevolve.run.kinds import of_kind
from pcevolve.run.prompting import prompts_for
from pcevolve.run.secrecy import has_secrets, least_share, promised
from pcevolve.run.settings import FAR_AT_ONCE, NEAR_AT_ONCE, RunSettings

NOTHING_EARLIER = Earlier()
_SETTLED = ("prompts", "at_once", "licence")
"""Options that a run settles when it begins, where nobody says them."""


def resolved_plan(
    components: Components,
    run_id: str,
    size: ModelSize,
    earlier: Earlier = NOTHING_EARLIER,
    library: Library | None = None,
    advice: Advice | None = None,
) -> PublicPlan:
    """Resolve the options into the public plan, from public facts only.

    Args:
        components: What the run is made of, its options among it.
        run_id: Public id of the run.
        size: Pixels of the API's images.
        earlier: What the provider had seen when the run began; no part of any price.
        library: What the API says of its images, if they are real public ones; no part of any request.
        advice: What the API says that its model is best asked with; an option of the user's comes before it.

    Raises:
        UsageError: An option is out of bounds.
    """
    _require_fitting(components)
    settings, method = components.settings, components.method
    asking = of_kind(components.dialect.makes).asking
    variations = settings.variations or method.variations
    initial = settings.initial or method.initial_for(settings.candidates, variations)
    frame = frame_digest(settings.encoder, settings.encoder_weights) if method.centre_first else None
    shared = {*PublicPlan.model_fields} & {*RunSettings.model_fields}
    values = settings.model_dump(include=shared, exclude_none=True) | {
        "run_id": run_id,
        "run_seed": settings.seed,
        "method": method.name,
        "labels": components.data.labels,
        "unit": components.data.unit_name,
        "iterations": components.iterations,
        "secrecy": (promise := _secrecy(settings, method)),
        "cells": None if promise is None else settings.cells or _cells(components, promise, initial),
        "modality": asking.modality(
            settings, size, advice, asks_for(components.dialect, components.generator is not None)
        ),
        "strengths": _strengths(components, asking.schedule(method), advice),
        "initial": initial,
        "variations": variations,
        "prototypes": settings.prototypes or method.prototypes_for(settings.candidates),
        "pool": settings.pool or method.pool,
        "keep": settings.keep or method.keep,
        "appearance": settings.appearance or _appearance(components),
        "centre_first": bool(method.centre_first),
        "prompt_template": _template(settings, asking.template(settings.unlabelled)),
        "prompts": prompts_for(
            Path(settings.prompts) if settings.prompts else None,
            min(initial, USUAL) if settings.vary_by == "prompt" else 0,
            settings.domain,
            components.data.labels,
        ),
        "batch": min(settings.batch, components.dialect.most),
        "at_once": _at_once(components),
        "epsilon": str(components.limits.run.epsilon),
        "delta": components.limits.run.delta,
        "noise": components.noise.source,
        "weights": named_weights(settings.encoder, settings.encoder_weights),
        "frame": frame,
        "forgets_insecure": settings.forget_insecure,
        "earlier": earlier,
        "library": library,
        "licence": _licence(settings, library),
    }
    return checked(PublicPlan, values)


def _licence(settings: RunSettings, library: Library | None) -> str:
    """The user's word; without one, of images with licences of their own: another one, which the card lists."""
    declared = library is not None and (library.licences or library.files)
    return "other" if declared and settings.licence == UNKNOWN_LICENCE else settings.licence


def as_recorded(begun: PublicPlan | None, plan: PublicPlan, settings: RunSettings) -> PublicPlan:
    """What a run that goes on had settled where its user said nothing: prompts, requests at once, licence.

    Args:
        begun: The plan on record; None for a run that begins.
        plan: What the options give now.
        settings: The options; what they say themselves stands.
    """
    if begun is None:
        return plan
    open_still = [name for name in _SETTLED if getattr(settings, name) in (None, UNKNOWN_LICENCE)]
    return plan.model_copy(update={name: getattr(begun, name) for name in open_still})


def _at_once(components: Components) -> int:
    """How many images may be under way at once: one by one where a generator inside this process makes them.

    Raises:
        UsageError: Several are asked for there.
    """
    asked = components.settings.at_once
    if components.generator is None:
        return asked or (NEAR_AT_ONCE if components.address.is_nearby else FAR_AT_ONCE)
    if asked not in (None, 1):
        raise UsageError(
            "--at-once: a generator inside this process makes one request's images after the other's"
        )
    return 1


def _secrecy(settings: RunSettings, method: Method) -> Secrecy | None:
    """What is promised of the secrets on the owner's list.

    Raises:
        UsageError: The method is for such a list, and there is none; or the other way round.
    """
    if "secrets" not in method.own:
        return None
    if not has_secrets(settings):
        raise UsageError(
            f"--method {method.name} protects secrets: say which with --secrets FILE, --secret-column or "
            "--detect-secrets"
        )
    return promised(settings.secret_prior, settings.secret_bound, settings.secret_size)


def _cells(components: Components, promise: Secrecy, initial: int) -> int:
    """Most cells of each class: what noise leaves something to see in."""
    settings, scope = components.settings, components.scope
    accesses = components.method.accesses(components.limits.run, scope, settings.calibration, "as-is")
    event = first_selection(accesses)[-1]
    return usual_cells(event, scope, least_share(promise, event, scope.relation), initial)


def _require_fitting(components: Components) -> None:
    """Refuse options that do not go together, or not with the method.

    Raises:
        UsageError: Some do not.
    """
    settings, method = components.settings, components.method
    if not components.iterations and (settings.lookahead or settings.more):
        raise UsageError(
            "--lookahead and --more need rounds of variation, which this run has not: give --iterations"
        )
    _require_own(settings, method)
    if settings.vary_by == "prompt":
        _require_prompts_vary(components)
    if settings.adapter is None and settings.adapter_scale is not None:
        raise UsageError("--adapter-scale weighs the image prompt of an --adapter: name one, or leave it out")
    if settings.adapter is not None and not components.iterations:
        raise UsageError(
            "--adapter needs rounds of variation, in which prototypes are the image prompts: give --iterations"
        )


def _require_own(settings: RunSettings, method: Method) -> None:
    """Refuse an option that the method would not look at.

    Raises:
        UsageError: There is one; it says whose it is.
    """
    for name in sorted(frozenset.union(*(each.own for each in METHODS.values())) - method.own):
        if getattr(settings, name) not in (None, False, ()):
            owners = ", ".join(each.name for each in METHODS.values() if name in each.own)
            raise UsageError(
                f"{flag(name, RunSettings)} means nothing to method '{method.name}': it is an option of {owners}"
            )
    if settings.threshold_end is not None and settings.threshold is None:
        raise UsageError("--threshold-end is where --threshold goes to: give both, or leave it out")


def _require_prompts_vary(components: Components) -> None:
    """Refuse options that mean nothing where variations are new images by a prototype's prompt.

    Raises:
        UsageError: There is one, or there is nothing to vary.
    """
    settings = components.settings
    if not components.iterations:
        raise UsageError(
            "--vary-by prompt needs rounds of variation, which this run has not: give --iterations"
        )
    for name in ("strengths", "strength_start", "strength_end", "adapter"):
        if getattr(settings, name) not in (None, ()):
            raise UsageError(
                f"{flag(name, RunSettings)} is about images that are varied, and --vary-by prompt sends none"
            )


def _strengths(components: Components, own: Schedule, advice: Advice | None) -> tuple[float, ...]:
    settings = components.settings
    if settings.vary_by == "prompt":
        return ()
    return settings.strengths or _schedule(settings, own, advice).over(components.iterations)


def _appearance(components: Components) -> AppearanceMode:
    """The method's own; which look is nearer is settled when a dataset is selected, and else it is matched."""
    keep = components.settings.keep or components.method.keep
    left_open = components.appearance == "auto" and keep != "selected"
    return "matched" if left_open else components.appearance


def _schedule(settings: RunSettings, schedule: Schedule, advice: Advice | None) -> Schedule:
    """The user's strengths; else the method's, as far as the API's model bears them."""
    low, high = (advice.low, advice.high) if advice else (0.0, 1.0)
    own, start, end = schedule, settings.strength_start, settings.strength_end
    return Schedule(
        min(max(own.start, low), high) if start is None else start,
        min(max(own.end, low), high) if end is None else end,
        own.step,
    )


def _template(settings: RunSettings, usual: str) -> str:
    """The prompt: the user's, or the usual one of the kind."""
    return settings.prompt_template if settings.prompt_template != TEMPLATE else usual
