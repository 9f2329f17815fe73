"""Resolve the owner's options into the public plan of a run, using public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

from pcevolve.errors import UsageError
from pcevolve.keeper.components import Components
from pcevolve.public.canonical import WRITTEN_ELSEWHERE, drop_unused, list_unused
from pcevolve.public.config.addresses import is_nearby
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import validate
from pcevolve.public.config.files import Prompts, read_prompts
from pcevolve.public.config.workflow import takes_image
from pcevolve.public.encoders import frame_digest, named_weights
from pcevolve.public.fields import PLAN_FORMAT, PlanFields
from pcevolve.public.methods import SecretEvolution, VariedEvolution
from pcevolve.public.modality import MODALITIES, Advice, Modality, ModelSize
from pcevolve.public.parts import Library, PriorReleases, Secrecy
from pcevolve.public.plan import PublicPlan
from pcevolve.public.protocol import Settle
from pcevolve.public.requests import (
    FAR_AT_ONCE,
    MOST_AT_ONCE,
    NEAR_AT_ONCE,
    ProviderSettings,
)
from pcevolve.public.run.checked import refuse_options
from pcevolve.public.selectors.method import AppearanceMode, Method, Schedule, first_selection
from pcevolve.public.settings import UNKNOWN_LICENCE, DataSettings, PrivacySettings
from pcevolve.public.words import TEMPLATE, USUAL
from pcevolve_shared.bundled import BUNDLED

NOTHING_EARLIER = PriorReleases()
NO_STATEMENT = Settle()
FALLBACK_SIZE = ModelSize(512, 512)
"""Assumed size of images if the API does not report its model's size."""
STRENGTHS = ("strengths", "strength_start", "strength_end")


def resolve_plan(
    components: Components,
    run_id: str,
    statement: Settle = NO_STATEMENT,
    earlier: PriorReleases = NOTHING_EARLIER,
) -> PublicPlan:
    """Resolve the options into the public plan, using public facts alone.

    Args:
        statement: The API's statements about itself and its model.
        earlier: The ledger's releases when the run began; no price depends on them.

    Raises:
        UsageError: An option is out of bounds, or does not apply to this plan.
    """
    _require_fitting(components)
    settings = components.settings
    # If no image is varied, it does not matter whether the model takes a strength.
    graded = statement.takes_strength or not components.iterations or settings.method.vary_by == "prompt"
    asked = components.dialect.capabilities - (frozenset() if graded else {"strength"})
    if "strength" not in asked:
        why = ": the API accepts no strength and sets the degree of variation itself: leave this option out"
        refuse_options(settings, STRENGTHS, why)
    promise = _secrecy(settings, components.method)
    values = {
        "format": PLAN_FORMAT,
        "run_id": run_id,
        "labels": components.data.labels,
        "unit": components.data.unit_name,
        "namespaced": settings.data.unit_namespace is not None,
        **_choose_asking(components, statement, asked),
        **_choose_selection(components, promise),
        "method": _choose_method(components, promise, statement.advice, asked),
        "data": DataSettings.take(settings.data) | {"words": tuple((settings.data.words or {}).values())},
        "earlier": earlier,
        "library": statement.library,
        "exact": statement.exact,
        "output": {"licence": _licence(settings, statement.library)},
    }
    drafted = validate(PlanFields, values, RunConfig)
    _refuse_unused(components, drafted)
    # The method's defaults may include settings without effect in this run, such as those for several rounds.
    return validate(PublicPlan, drop_unused(values, drafted), RunConfig)


def _refuse_unused(components: Components, drafted: PlanFields) -> None:
    """Refuse an option that the user gave although it has no effect on this plan (``UsageError``)."""
    # A control uses no encoder, but loads it, so that it takes as long as the run that it is compared with.
    unused = {*list_unused(drafted)} - {*WRITTEN_ELSEWHERE, "encoder.name"}
    unused |= set() if drafted.method.strengths else {f"method.{name}" for name in STRENGTHS}
    unused |= {"data.unit_namespace"} if "namespaced" in unused else set()
    # A method without rounds replaces these by its own values.
    unused |= {
        f"method.{name}"
        for name in ("iterations", "candidates")
        if getattr(drafted.method, name) != components.settings.get(name)
    }
    rounds = f"{drafted.method.iterations} round{'' if drafted.method.iterations == 1 else 's'}"
    for each in components.given:
        if each.path in unused:
            raise UsageError(
                f"{each.spelled} has no effect in a run of method {drafted.method.name} over {rounds} on "
                f"{drafted.modality.nouns.many}: leave it out"
            )


def _choose_asking(components: Components, statement: Settle, asked: AbstractSet[str]) -> dict[str, object]:
    """Return the settings of requests; the modality's defaults apply where the user gave nothing."""
    settings, made = components.settings, MODALITIES[components.dialect.makes]
    modality = made.settle(settings.provider, statement.size or FALLBACK_SIZE, statement.advice, asked)
    batch = _batch(components, modality)
    return {
        "modality": modality,
        "provider": ProviderSettings.take(settings.provider)
        | {
            "prompt_template": _template(settings, made),
            "batch": batch,
            "at_once": choose_at_once(components, batch),
            "prompts": _prompts(components, _initial(components)),
        },
    }


def _choose_method(
    components: Components, promise: Secrecy | None, advice: Advice | None, asked: AbstractSet[str]
) -> dict[str, object]:
    """Return the method's settings; the method's defaults apply where the user gave nothing."""
    given, method, initial = components.settings.method, components.method, _initial(components)
    usual = method.degrees(MODALITIES[components.dialect.makes])
    keep = given.keep or method.keep
    is_first = not components.iterations and keep == "last"  # the first images are the dataset
    settled = {
        "name": method.name,
        "candidates": initial if is_first else given.candidates,
        "iterations": components.iterations,
        "initial": initial,
        "prototypes": given.prototypes or method.prototypes_for(given.candidates),
        "pool": given.pool or method.pool,
        "keep": keep,
        "appearance": given.appearance or _appearance(components),
        "strengths": _strengths(components, usual, advice) if "strength" in asked else (),
    }
    if issubclass(method.parameters, VariedEvolution):
        settled["variations"] = _variations(components)
    if promise is not None:
        settled["cells"] = given.of(SecretEvolution).cells or _cells(components, promise)
    elsewhere = {path.removeprefix("method.") for path in WRITTEN_ELSEWHERE}
    return {name: value for name, value in given if name not in elsewhere} | settled


def _choose_selection(components: Components, promise: Secrecy | None) -> dict[str, object]:
    """Return the settings of selection: its budget, its noise and its encoder."""
    settings, method, limit = components.settings, components.method, components.limits.run
    weights = settings.encoder.weights
    return {
        "secrecy": promise,
        "centre_first": bool(method.centre_first),
        "privacy": PrivacySettings.take(settings.privacy)
        | {"epsilon": str(limit.epsilon), "delta": limit.delta},
        "noise": components.noise.source,
        "encoder": {
            "name": settings.encoder.name,
            "weights": named_weights(settings.encoder.name, weights),
            "frame": frame_digest(settings.encoder.name, weights) if method.centre_first else None,
        },
    }


def _initial(components: Components) -> int:
    own = components.settings.method
    return own.initial or components.method.initial_for(own.candidates, _variations(components))


def _variations(components: Components) -> int:
    return components.settings.method.of(VariedEvolution).variations or components.method.variations


def _prompts(components: Components, initial: int) -> Prompts:
    settings = components.settings
    return read_prompts(
        Path(settings.provider.prompts) if settings.provider.prompts else None,
        min(initial, USUAL) if settings.method.vary_by == "prompt" else 0,
        settings.data.domain,
        tuple(settings.data.words or components.data.labels),
        words=tuple((settings.data.words or {}).values()),
    )


def _licence(settings: RunConfig, library: Library | None) -> str:
    """Return the user's licence; if none is given, "other" if the API's images have licences (the card lists them)."""
    declared = library is not None and (library.licences or library.files)
    return "other" if declared and settings.output.licence == UNKNOWN_LICENCE else settings.output.licence


def keep_recorded(begun: PublicPlan | None, plan: PublicPlan, settings: RunConfig) -> PublicPlan:
    """Return a resumed run's plan.

    The recorded prompts, requests in flight and chat fields apply unless the user gives others now.
    """
    if begun is None:
        return plan
    # The record keeps the API's first statements, because another device may answer by now.
    if begun.confinement is not None and (
        plan.confinement is None or plan.confinement.by != begun.confinement.by
    ):
        raise UsageError(
            f"this run began with confinement ({begun.confinement.words}), as its card states, but this "
            "machine does not enforce it: continue the run where confinement is enforced"
        )
    provider: dict[str, object] = (
        {"at_once": begun.provider.at_once} if settings.provider.at_once is None else {}
    )
    provider |= {"prompts": begun.provider.prompts} if settings.provider.prompts is None else {}
    recorded: dict[str, object] = {"exact": begun.exact, "confinement": begun.confinement}
    if settings.output.licence == UNKNOWN_LICENCE:
        recorded["output"] = begun.output
    if begun.modality.ask_for_one() is not None and settings.provider.fields is None:
        # The first start asked whether the API takes several texts per request; the answer is in the record.
        recorded["modality"] = begun.modality
        provider["batch"] = begun.provider.batch
    return plan.model_copy(update={**recorded, "provider": plan.provider.model_copy(update=provider)})


def settle_single(components: Components, plan: PublicPlan) -> PublicPlan:
    """Return a plan changed to one text per request, for an API that cannot make several texts per request."""
    modality = plan.modality.ask_for_one()
    if modality is None:
        return plan
    single = {"batch": 1, "at_once": choose_at_once(components, 1)}
    provider = {**plan.provider.model_dump(), **single}
    return PublicPlan.model_validate(
        {**plan.model_dump(), "provider": provider, "modality": modality.model_dump()}
    )


def _batch(components: Components, modality: Mapping[str, object]) -> int:
    """Return the number of images or texts per request: one for an API that cannot make several."""
    fields = modality.get("fields")
    takes_none = isinstance(fields, tuple) and "n=" in fields
    return 1 if takes_none else min(components.settings.provider.batch, components.dialect.most)


def choose_at_once(components: Components, batch: int) -> int:
    """Return the number of images in flight; the user's, or a default.

    A nearby API gets two full requests, so that the API works on one request while the client records the
    answer to the other.
    """
    near = min(max(NEAR_AT_ONCE, 2 * batch), MOST_AT_ONCE)
    provider = components.settings.provider
    return provider.at_once or (near if is_nearby(provider.api) else FAR_AT_ONCE)


def _secrecy(settings: RunConfig, method: Method) -> Secrecy | None:
    """Return the promise to listed secrets; None for methods that make no such promise.

    Raises:
        UsageError: The method needs a list of secrets, and there is none.
    """
    if method.parameters is not SecretEvolution:
        return None
    from pcevolve.keeper.private.secrets import find_secrets, make_promise

    if (own := find_secrets(settings)) is None:
        raise UsageError(
            f"--method {method.name} protects secrets: list them in a file (data.secrets), or name their columns "
            "(data.secret_columns)"
        )
    return make_promise(own.secret_prior, own.secret_bound, own.secret_size)


def _cells(components: Components, promise: Secrecy) -> int:
    """Return the number of cells per class that stand out from the noise."""
    from pcevolve.keeper.private.secrets import compute_least_share
    from pcevolve.public.selectors.cells import choose_cells  # needed only by the method SecPE

    settings, scope = components.settings, components.scope
    accesses = components.method.accesses(components.limits.run, scope, settings.method.calibration, "as-is")
    event = first_selection(accesses)[-1]
    return choose_cells(
        event, scope, compute_least_share(promise, event, scope.relation), _initial(components)
    )


def _require_fitting(components: Components) -> None:
    """Refuse options that contradict each other or the method."""
    settings = components.settings
    if not components.iterations and (settings.method.lookahead or settings.method.more):
        raise UsageError(
            "method.lookahead and method.more need rounds of variation, and this run has none: give "
            "--iterations"
        )
    if settings.method.vary_by == "prompt":
        _require_prompts_vary(components)
    _require_workflow(components)
    if settings.provider.adapter is None and settings.provider.adapter_scale is not None:
        raise UsageError(
            "provider.adapter_scale sets the weight of an adapter's image prompt: give provider.adapter too, or "
            "leave provider.adapter_scale out"
        )
    if settings.provider.adapter is not None and not components.iterations:
        raise UsageError(
            "provider.adapter needs rounds of variation, in which prototypes are the image prompts: give --iterations"
        )


def _require_workflow(components: Components) -> None:
    """Refuse a missing workflow, or one that cannot vary images if the run has variations."""
    workflow = components.settings.provider.workflow
    if "workflow" in components.dialect.capabilities and not workflow:
        raise UsageError(
            f"dialect '{components.dialect.name}' needs a workflow: export your workflow for the API, and "
            "give its file with --set provider.workflow=FILE"
        )
    if workflow and components.settings.provider.model == BUNDLED:
        raise UsageError(
            "the workflow loads its own model, which the card names as the source of the dataset: give "
            "the model's name with --model"
        )
    varies = components.iterations and components.settings.method.vary_by != "prompt"
    if workflow and varies and not takes_image(workflow):
        raise UsageError(
            "the workflow has no node with the title 'image', so it cannot vary images: give titles to "
            "the nodes for image and strength, or give --set method.vary_by=prompt"
        )


def _require_prompts_vary(components: Components) -> None:
    """Refuse options about varied images if variations are new images from a prototype's prompt."""
    settings = components.settings
    if not components.iterations:
        raise UsageError(
            f"method.vary_by={settings.method.vary_by} needs rounds of variation, and this run has none: "
            "give --iterations"
        )
    why = f" concerns images that are varied, but method.vary_by={settings.method.vary_by} sends no images"
    refuse_options(settings, (*STRENGTHS, "adapter"), why)


def _strengths(components: Components, own: Schedule, advice: Advice | None) -> tuple[float, ...]:
    settings = components.settings
    if settings.method.vary_by == "prompt":
        return ()
    return settings.method.strengths or _schedule(settings, own, advice).over(components.iterations)


def _appearance(components: Components) -> AppearanceMode:
    """Return the user's or the method's appearance mode; without a final selection, ``auto`` becomes ``matched``."""
    keep = components.settings.method.keep or components.method.keep
    left_open = components.appearance == "auto" and keep != "selected"
    return "matched" if left_open else components.appearance


def _schedule(settings: RunConfig, schedule: Schedule, advice: Advice | None) -> Schedule:
    """Return the user's strengths; by default, the method's strengths within the model's recommended range."""
    low, high = (advice.low, advice.high) if advice else (0.0, 1.0)
    own, start, end = schedule, settings.method.strength_start, settings.method.strength_end
    return Schedule(
        min(max(own.start, low), high) if start is None else start,
        min(max(own.end, low), high) if end is None else end,
        own.step,
    )


def _template(settings: RunConfig, made: type[Modality]) -> str:
    """Return the user's prompt template, or the modality's default; without labels, it contains the domain alone."""
    if settings.provider.prompt_template != TEMPLATE:
        return settings.provider.prompt_template
    return made.unlabelled_template if settings.data.unlabelled else made.template
