"""The parts of a run's private side: method, noise, private data, encoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pcevolve.keeper.kind import read_run
from pcevolve.keeper.ledger.ledger import Account, Limits
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.judge import PrivateJudge, PrivateViews, UniformJudge
from pcevolve.keeper.private_data import RunData, leave_out_private, name_classes
from pcevolve.public import selectors
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.data_source import find_roster
from pcevolve.public.config.declared import list_options
from pcevolve.public.config.options import Option
from pcevolve.public.dialects import Abilities, find_abilities, require
from pcevolve.public.dp.mechanisms import FloatArray, Noise, SecureNoise, SeededNoise
from pcevolve.public.encoders import Encoder, load_encoder
from pcevolve.public.encoders.published import resolve
from pcevolve.public.loop.lineage import Judge
from pcevolve.public.modality import MODALITIES
from pcevolve.public.parts import Secrecy
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.screen import ProgressCallback, no_progress
from pcevolve.public.selectors import Method, Scope
from pcevolve.public.selectors.choosing import Chooser
from pcevolve.public.selectors.method import AppearanceMode, first_selection

if TYPE_CHECKING:
    from pcevolve.keeper.private.secrets import Sources


@dataclass(frozen=True, repr=False)
class Components:
    """The parts of a run; building them sends nothing and spends nothing.

    Attributes:
        encoder_reason: Why ``auto`` chose the encoder; empty if the user chose it.
        appearance: How the dataset's appearance is adapted to the private images, unless options say
            otherwise.
        test_is_public: Whether figures on the test data may be published.
        notes: Notes on the private data for the owner alone, each with a title.
        noise_factor: As in ``Scope``.
    """

    settings: RunConfig
    method: Method
    reason: str
    encoder_reason: str
    iterations: int
    appearance: AppearanceMode
    noise: Noise
    dialect: Abilities
    data: PrivateDataset
    test: PrivateDataset | None
    test_is_public: bool
    notes: tuple[tuple[str, str], ...]
    limits: Limits
    noise_factor: float = 1.0
    given: tuple[Option, ...] = ()
    _declared: list[Sources] = field(default_factory=list)
    _capped: list[FloatArray] = field(default_factory=list)

    @classmethod
    def of(cls, run: CheckedRun, show_progress: ProgressCallback = no_progress) -> Components:
        """Load the private data, and make the choices that depend on public sizes.

        Raises:
            DataError: The private or the test data cannot be used.
            UsageError: The API's dialect lacks a capability, or the options do not fit together.
        """
        settings, limits = run.settings, Limits(run.budget, run.lifetime)
        abilities = find_abilities(settings.provider.dialect)
        read, declared = _read(settings, show_progress), _read_declared(settings)
        data, test = name_classes(read.data, settings.data.words), read.test
        if test is not None:
            held_out = leave_out_private(test, data, f"--test {settings.data.test or 'of the library'}")
            test = name_classes(held_out, settings.data.words)
        scope = _measure_scope(settings, data, settings.method.iterations or 1, read.noise_factor)
        made = MODALITIES[abilities.makes]
        look = "as-is" if made.refuses_looks else settings.method.appearance
        method, reason = selectors.resolve_method(settings.method.name, limits.run, scope, look)
        iterations = method.iterations(settings.method.iterations, limits.run, scope)
        require(abilities, method.needs_for(iterations, settings.method.vary_by) | _list_required(settings))
        encoder, why = resolve(settings.encoder.name, abilities.makes)
        return cls(
            settings=settings.changed(encoder=encoder),
            method=method,
            reason=reason,
            encoder_reason=why,
            iterations=iterations,
            appearance="as-is"
            if made.refuses_looks
            else method.appearance_for(limits.run, scope, settings.method.calibration),
            noise=_noise(settings.privacy.insecure_noise_seed),
            dialect=abilities,
            data=data,
            test=test,
            test_is_public=read.test_is_public,
            notes=read.notes,
            noise_factor=read.noise_factor,
            limits=limits,
            given=tuple(settings.list_given()),
            _declared=declared,
        )

    @property
    def scope(self) -> Scope:
        """The public sizes on which prices depend."""
        return _measure_scope(self.settings, self.data, self.iterations, self.noise_factor)

    @property
    def pairs(self) -> int:
        """Largest number of comparisons for one release.

        It is the nominal number of private images, times the number of candidates of all rounds, because one pool may
        contain the candidates of all rounds.
        """
        scope = self.scope
        return scope.classes**2 * scope.shots * scope.candidates * (scope.iterations + 1)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, loaded at first use (``ModelError`` if its weights are unavailable)."""
        return load_encoder(
            self.settings.encoder.name, self.settings.encoder.weights, self.settings.encoder.device
        )

    @cached_property
    def views(self) -> PrivateViews:
        """The private images as the encoder's embeddings."""
        return PrivateViews(self.data, self.encoder)

    def prepare(self, plan: PublicPlan, show_progress: ProgressCallback = no_progress) -> None:
        """Load the encoder and embed the private images: all work that needs no answer of the API.

        Raises:
            DataError: A private image has no embedding.
            ModelError: The encoder cannot be loaded.
        """
        self._list_secrets(plan)
        views = self.views  # loads the encoder, even for a control that uses none
        if self.method.queries_data:
            views.prepare(with_appearances=0 in plan.releases, show_progress=show_progress)

    def chooser(self, plan: PublicPlan, stored: Callable[[str], bytes]) -> Chooser | None:
        """Return the public half of every selection; None for methods that compare nothing.

        Args:
            stored: Returns the bytes with a given digest.
        """
        if not self.method.queries_data:
            return None
        return Chooser(plan, self.encoder, stored, self.method.make_selector())

    def judge(self, plan: PublicPlan, account: Account, chooser: Chooser | None) -> Judge:
        """Return the judge that selects by the private images; for a control, the judge that draws at random."""
        if chooser is None:
            return UniformJudge(account, self.noise, plan)
        listed = self._list_secrets(plan)
        return PrivateJudge(
            views=replace(self.views, **listed) if listed else self.views,  # a copy would embed again
            chooser=chooser,
            account=account,
            noise=self.noise,
            events=self.method.plan_events(plan),
        )

    def _list_secrets(self, plan: PublicPlan) -> dict[str, Any]:
        """Return the views' field ``caps``: the share of each private text's vote that counts, given its secrets.

        Empty if the plan has no secrets.
        """
        if plan.secrecy is None:
            return {}
        from pcevolve.keeper.private.secrets import (
            compute_caps,  # needed only with secrets
        )

        # Cached: ``prepare`` reads the list before the API is contacted, and the judge needs it again later.
        if not self._capped:
            event = first_selection(self.method.plan_events(plan))[-1]
            sources = self.read_secrets(plan.secrecy)
            self._capped.append(compute_caps(sources, self.data, plan.secrecy, event, plan.privacy.relation))
        return {"caps": self._capped[0]}

    def read_secrets(self, promise: Secrecy) -> Sources:
        """Return the declared secrets. They are read once per run, so that votes and ledger use the same list."""
        from pcevolve.keeper.private.secrets import read_declared

        if not self._declared:
            self._declared.append(read_declared(self.settings, promise))
        return self._declared[0]


def _read(settings: RunConfig, show_progress: ProgressCallback) -> RunData:
    """Read the private data; for a coordinator's run, return an empty dataset."""
    if (roster := find_roster(settings.data.private)) is not None:
        from pcevolve.keeper.clinics.coordinator import stand_in  # needed only with several owners

        return stand_in(roster, find_abilities(settings.provider.dialect).makes)
    return read_run(settings, show_progress)


def _read_declared(settings: RunConfig) -> list[Sources]:
    """Read the declared secrets, as a list of one entry or none; an unusable declaration is refused here."""
    if not settings.data.secrets and not settings.data.secret_columns:
        return []
    from pcevolve.keeper.private.secrets import find_secrets, make_promise, read_declared

    own = find_secrets(settings)
    if own is None:
        return []
    return [read_declared(settings, make_promise(own.secret_prior, own.secret_bound, own.secret_size))]


def _measure_scope(settings: RunConfig, data: PrivateDataset, iterations: int, noise_factor: float) -> Scope:
    return Scope(
        relation=settings.privacy.relation,
        iterations=iterations,
        classes=len(data.labels),
        shots=settings.data.shots,
        candidates=settings.method.candidates,
        noise_factor=noise_factor,
    )


def _list_required(settings: RunConfig) -> set[str]:
    """Return the capabilities that the user's options need; an API that lacks one would ignore the option silently."""
    wished = (each for each in list_options(RunConfig) if each.of(settings) not in (None, ""))
    return {each.setting.needs for each in wished if each.setting.needs}


def _noise(seed: int | None) -> Noise:
    """Return the operating system's randomness, unless a seed makes the run INSECURE."""
    return SecureNoise() if seed is None else SeededNoise(seed)
