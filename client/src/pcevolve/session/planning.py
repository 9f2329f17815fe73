"""The public plan of a run, and that all of it can be paid for before the API is greeted.

The API would learn from a later refusal that these data were used before, and from a delay how large they are.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pcevolve.config.config import RunConfig
from pcevolve.config.places import ledger_volume
from pcevolve.config.providers import FAR_AT_ONCE, NEAR_AT_ONCE
from pcevolve.encoders import frame_digest, named_weights
from pcevolve.errors import LedgerError, UsageError
from pcevolve.ledger.creation import require_volume
from pcevolve.ledger.entries import Listed
from pcevolve.ledger.ledger import Account, Ledger, Origin, Terms
from pcevolve.private import ProgressCallback, no_progress
from pcevolve.providers.dialect import Advice, ModelSize, asks_for
from pcevolve.public.fields import TEMPLATE
from pcevolve.public.options import spell, validate
from pcevolve.public.parts import Earlier, Library, Secrecy
from pcevolve.public.plan import PublicPlan
from pcevolve.public.requests import Prompt
from pcevolve.public.settings import UNKNOWN_LICENCE
from pcevolve.public.words import USUAL, make_prompts
from pcevolve.selectors.cells import SecretEvolution, choose_cells
from pcevolve.selectors.method import AppearanceMode, Method, Schedule, first_selection
from pcevolve.session import rewriting
from pcevolve.session.approval import PrivateNotes
from pcevolve.session.components import Components
from pcevolve.session.kind import of_kind
from pcevolve.session.preflight import require_ledger
from pcevolve.session.secrecy import declared, least_share, promised, secrets_of
from pcevolve.transcript.log import Transcript
from pcevolve.transcript.records import Opened
from pcevolve_shared.reading import read_file

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
    graded: bool = True,
) -> PublicPlan:
    """Resolve the options into the public plan, from public facts only.

    Args:
        components: What the run is made of, its options among it.
        run_id: Public id of the run.
        size: Pixels of the API's images.
        earlier: What the provider had seen when the run began; no part of any price.
        library: What the API says of its images, if they are real public ones; no part of any request.
        advice: What the API says that its model is best asked with; an option of the user's comes before it.
        graded: Whether the API's model takes a strength, as far as its dialect has one.

    Raises:
        UsageError: An option is out of bounds.
    """
    _require_fitting(components)
    settings, method = components.settings, components.method
    asked = asks_for(components.dialect, components.generator is not None) - (
        frozenset() if graded else {"strength"}
    )
    if "strength" not in asked:
        _require_no_strength(settings)
    asking = of_kind(components.dialect.makes)
    initial = settings.method.initial or method.initial_for(
        settings.method.candidates, _variations(components)
    )
    given = {name: value for name, value in settings.options().items() if value is not None}
    modality = asking.modality(settings, size, advice, asked)
    values = {name: given[name] for name in given.keys() & PublicPlan.model_fields.keys()} | {
        "run_id": run_id,
        "run_seed": settings.provider.seed,
        "labels": components.data.labels,
        "words": tuple((settings.data.words or {}).values()),
        "unit": components.data.unit_name,
        "secrecy": (promise := _secrecy(settings, method)),
        "cells": None if promise is None else settings.get("cells") or _cells(components, promise, initial),
        "modality": modality,
        "strengths": _strengths(components, asking.schedule(method), advice) if "strength" in asked else (),
        "initial": initial,
        "prompt_template": _template(settings, asking.template(settings.data.unlabelled)),
        "prompts": _prompts(components, initial),
        "rewriter": rewriting.planned(settings),
        "batch": _batch(components, modality),
        "at_once": _at_once(components),
        **_selection(components),
        "forgets_insecure": settings.privacy.forget_insecure,
        "earlier": earlier,
        "library": library,
        "licence": _licence(settings, library),
    }
    return validate(PublicPlan, values, RunConfig)


def _selection(components: Components) -> dict[str, object]:
    """Facts of what is chosen and paid: the method's own where the user says nothing."""
    settings, method, limit = components.settings, components.method, components.limits.run
    weights = settings.encoder.weights
    return {
        "method": method.name,
        "iterations": components.iterations,
        "variations": _variations(components),
        "prototypes": settings.method.prototypes or method.prototypes_for(settings.method.candidates),
        "pool": settings.method.pool or method.pool,
        "keep": settings.method.keep or method.keep,
        "appearance": settings.method.appearance or _appearance(components),
        "centre_first": bool(method.centre_first),
        "epsilon": str(limit.epsilon),
        "delta": limit.delta,
        "noise": components.noise.source,
        "weights": named_weights(settings.encoder.name, weights),
        "frame": frame_digest(settings.encoder.name, weights) if method.centre_first else None,
    }


def _variations(components: Components) -> int:
    found: int = components.settings.get("variations") or components.method.variations
    return found


def _prompts(components: Components, initial: int) -> Prompts:
    settings = components.settings
    return prompts_for(
        Path(settings.provider.prompts) if settings.provider.prompts else None,
        0 if settings.method.vary_by == "image" else min(initial, USUAL),
        settings.data.domain,
        tuple(settings.data.words or components.data.labels),
        words=tuple((settings.data.words or {}).values()),
    )


def _licence(settings: RunConfig, library: Library | None) -> str:
    """The user's word; without one, of images with licences of their own: another one, which the card lists."""
    declared = library is not None and (library.licences or library.files)
    return "other" if declared and settings.output.licence == UNKNOWN_LICENCE else settings.output.licence


def as_recorded(begun: PublicPlan | None, plan: PublicPlan, settings: RunConfig) -> PublicPlan:
    """Fill in what a resumed run had settled where its user said nothing: prompts, requests at once, chat fields.

    Args:
        begun: The plan on record; None for a run that begins.
        plan: What the options give now.
        settings: The options; what they say themselves stands.
    """
    if begun is None:
        return plan
    open_still = [name for name in _SETTLED if settings.get(name) in (None, UNKNOWN_LICENCE)]
    if begun.modality.kind == "text" and settings.provider.fields is None:
        open_still += ["modality", "batch"]  # whether it takes several was asked then
    return plan.model_copy(update={name: getattr(begun, name) for name in open_still})


def _batch(components: Components, modality: Mapping[str, object]) -> int:
    """Return how many images or texts one request asks for: one of an API that takes no number."""
    fields = modality.get("fields")
    takes_none = isinstance(fields, tuple) and "n=" in fields
    return 1 if takes_none else min(components.settings.provider.batch, components.dialect.most)


def _at_once(components: Components) -> int:
    """Return how many images may be under way at once: one where a generator inside this process makes them.

    Raises:
        UsageError: Several are asked for there.
    """
    asked = components.settings.provider.at_once
    if components.generator is None:
        return asked or (NEAR_AT_ONCE if components.address.is_nearby else FAR_AT_ONCE)
    if asked not in (None, 1):
        raise UsageError(
            "provider.at_once: a generator inside this process makes one request's images after the other's"
        )
    return 1


def _secrecy(settings: RunConfig, method: Method) -> Secrecy | None:
    """Return the promise about the secrets on the owner's list.

    Raises:
        UsageError: The method is for such a list, and there is none; or the other way round.
    """
    if method.parameters is not SecretEvolution:
        return None
    if (own := secrets_of(settings)) is None:
        raise UsageError(
            f"--method {method.name} protects secrets: say which with method.secrets, a file, method.secret_columns or "
            "method.detect_secrets"
        )
    return promised(own.secret_prior, own.secret_bound, own.secret_size)


def _cells(components: Components, promise: Secrecy, initial: int) -> int:
    """Most cells of each class: what noise leaves something to see in."""
    settings, scope = components.settings, components.scope
    accesses = components.method.accesses(components.limits.run, scope, settings.method.calibration, "as-is")
    event = first_selection(accesses)[-1]
    return choose_cells(event, scope, least_share(promise, event, scope.relation), initial)


def _require_fitting(components: Components) -> None:
    """Refuse options that do not go together, or not with the method.

    Raises:
        UsageError: Some do not.
    """
    settings = components.settings
    if not components.iterations and (settings.method.lookahead or settings.method.more):
        raise UsageError(
            "method.lookahead and method.more need rounds of variation, which this run has not: give --iterations"
        )
    if settings.method.vary_by != "image":
        _require_prompts_vary(components)
    if settings.provider.adapter is None and settings.provider.adapter_scale is not None:
        raise UsageError(
            "provider.adapter_scale weighs the image prompt of an adapter: name provider.adapter, or leave it out"
        )
    if settings.provider.adapter is not None and not components.iterations:
        raise UsageError(
            "provider.adapter needs rounds of variation, in which prototypes are the image prompts: give --iterations"
        )


def _require_prompts_vary(components: Components) -> None:
    """Refuse options that mean nothing where variations are new images by a prototype's prompt.

    Raises:
        UsageError: There is one, or there is nothing to vary.
    """
    settings = components.settings
    if not components.iterations:
        raise UsageError(
            f"method.vary_by={settings.method.vary_by} needs rounds of variation, which this run has not: give "
            "--iterations"
        )
    for name in ("strengths", "strength_start", "strength_end", "adapter"):
        if settings.get(name) not in (None, ()):
            raise UsageError(
                f"{spell(name, RunConfig)} is about images that are varied, and method.vary_by="
                f"{settings.method.vary_by} sends none"
            )


def _require_no_strength(settings: RunConfig) -> None:
    """Refuse strengths for an API that takes none.

    Raises:
        UsageError: There are some.
    """
    for name in ("strengths", "strength_start", "strength_end"):
        if settings.get(name) not in (None, ()):
            raise UsageError(
                f"{spell(name, RunConfig)}: the API takes no strength and varies to a degree of its own: leave it out"
            )


def _strengths(components: Components, own: Schedule, advice: Advice | None) -> tuple[float, ...]:
    settings = components.settings
    if settings.method.vary_by != "image":
        return ()
    return settings.method.strengths or _schedule(settings, own, advice).over(components.iterations)


def _appearance(components: Components) -> AppearanceMode:
    """The method's own; which look is nearer is settled when a dataset is selected, and else it is matched."""
    keep = components.settings.method.keep or components.method.keep
    left_open = components.appearance == "auto" and keep != "selected"
    return "matched" if left_open else components.appearance


def _schedule(settings: RunConfig, schedule: Schedule, advice: Advice | None) -> Schedule:
    """The user's strengths; else the method's, as far as the API's model bears them."""
    low, high = (advice.low, advice.high) if advice else (0.0, 1.0)
    own, start, end = schedule, settings.method.strength_start, settings.method.strength_end
    return Schedule(
        min(max(own.start, low), high) if start is None else start,
        min(max(own.end, low), high) if end is None else end,
        own.step,
    )


def _template(settings: RunConfig, usual: str) -> str:
    """The prompt: the user's, or the usual one of the kind."""
    return settings.provider.prompt_template if settings.provider.prompt_template != TEMPLATE else usual


FALLBACK_SIZE = ModelSize(512, 512)
"""Of images, where the API does not say which size its model makes."""


@dataclass(frozen=True)
class Prepared:
    """All that is settled before the API is greeted.

    Attributes:
        account: What pays; it has enough for the whole draft.
        draft: The plan, but for the size of the API's images.
        notes: What the owner is told of ledger and data.
    """

    account: Account
    draft: PublicPlan
    notes: PrivateNotes


def opened_ledger(settings: RunConfig, begun: bool) -> Ledger:
    """The run's ledger, which is new only if the run is.

    Raises:
        LedgerError: It is gone, and with it the memory of what the run has drawn; or it would not outlive a container.
    """
    require_volume(settings.privacy.ledger, ledger_volume())
    if begun:
        require_ledger(settings.privacy.ledger)
    return Ledger(settings.privacy.ledger)


def prepared(
    components: Components, ledger: Ledger, transcript: Transcript, told: ProgressCallback = no_progress
) -> Prepared:
    """Make sure that all of the plan can be paid for, and embed the private images.

    The size of the API's images, which only the API knows, has no part in any of this.

    Raises:
        BudgetError: Not enough is left.
        DataError: A private image has no embedding.
        LedgerError: The run cannot be paid from this ledger.
        ModelError: The encoder cannot be loaded.
    """
    run_id, recorded = _run_id(transcript), transcript.plan()
    plan = resolved_plan(components, run_id, FALLBACK_SIZE)
    account = _account(components, plan, ledger)
    if recorded is not None and not account.enrolled:
        raise LedgerError(
            f"the ledger {ledger.path} does not know this run, which has begun: restore the one that it began with"
        )
    account.require([event for each in components.method.planned(plan).values() for event in each])
    components.prepare(plan, told)
    # What the provider had seen when the run began; a run that goes on does not count it anew.
    earlier = account.earlier() if recorded is None else recorded.earlier
    draft = plan.model_copy(update={"earlier": earlier})
    return Prepared(account, draft, PrivateNotes.of(components, draft, account))


def _account(components: Components, plan: PublicPlan, ledger: Ledger) -> Account:
    """The run's view of the ledger; nothing is on record of it yet."""
    terms = Terms(
        plan.api,
        plan.secure,
        plan.unit_size,
        plan.forgets_insecure,
        _list_secrets(components, plan, ledger),
    )
    units = components.data.privacy_units()
    origin = Origin(str(components.settings.output.folder.absolute()), plan.domain)
    return ledger.account(plan.run_id, units, plan.relation, components.limits, plan.unit, terms, origin)


def _list_secrets(components: Components, plan: PublicPlan, ledger: Ledger) -> Listed | None:
    """Return the owner's declared secrets, as the ledger knows them."""
    if plan.secrecy is None:
        return None
    sources = declared(components.settings, plan.secrecy)
    return Listed(ledger.fingerprint(sources.digest), plan.secrecy.most, sources.budget)


def _run_id(transcript: Transcript) -> str:
    """The id of the run that is on record, or a new one."""
    first = transcript.entries[0].record if transcript.entries else None
    return first.run_id if isinstance(first, Opened) else secrets.token_hex(16)


Prompts = tuple[tuple[str, ...], ...]
"""Of each class, in the order of the labels."""
_FILE = TypeAdapter(dict[str, list[Prompt]])
MOST_BYTES = 2**24
"""Of a file of prompts."""
_MOST_NAMED = 5  # classes named in one error


def prompts_for(
    path: Path | None,
    count: int,
    domain: str,
    labels: Sequence[str],
    option: str = "provider.prompts",
    words: Sequence[str] = (),
) -> Prompts:
    """The prompts of each class; empty if the template makes its only one.

    Args:
        path: Of a file that ``written`` wrote or a person did; None: the grammar's.
        count: How many of the grammar's for each class; 0 for none.
        domain: Public words for what the images show.
        labels: The classes.
        option: That named the file.
        words: What the grammar's say of each class, where that is not its label.

    Raises:
        UsageError: The file is not one, or its classes are not those of the run.
    """
    if path is not None:
        return _of_file(path, labels, option)
    said = [each or domain for each in words] or labels
    return tuple(make_prompts(domain, each, count) for each in said) if count else ()


def written(prompts: Mapping[str, Sequence[str]]) -> str:
    """The text of a file of prompts."""
    return json.dumps(prompts, indent=1, ensure_ascii=False) + "\n"


def _of_file(path: Path, labels: Sequence[str], option: str) -> Prompts:
    try:
        found = _FILE.validate_json(read_file(path, MOST_BYTES))
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "/".join(str(each) for each in first["loc"]) or "the file"
        raise UsageError(
            f"{option} {path}: {place}: {first['msg']}; it needs one list of prompts for each class: "
            '{"CLASS": ["A ...", "Another ..."]}'
        ) from None
    if missing := [label for label in labels if not found.get(label)]:
        raise UsageError(f"{option} {path}: no prompt for {_name_labels(missing)}")
    if foreign := found.keys() - set(labels):
        raise UsageError(f"{option} {path}: {_name_labels(sorted(foreign))}: no such class in --private")
    if len({len(each) for each in found.values()}) > 1:
        raise UsageError(f"{option} {path}: every class needs as many prompts as every other")
    return tuple(tuple(found[label]) for label in labels)


def _name_labels(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _MOST_NAMED} more" if len(labels) > _MOST_NAMED else ""
    return ", ".join(repr(each) for each in labels[:_MOST_NAMED]) + more
