"""The parts of a run, checked before anybody is asked and anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from . import methods
from .budget.accounting import parse_epsilon
from .budget.ledger import Account, Limits
from .budget.mechanisms import ExponentialMechanism, InsecureSeeded, Mechanism, UniformChoice
from .egress.transcript import Transcript
from .egress.transport import Address
from .errors import UsageError
from .evolve import Judge
from .methods.method import Method
from .plan import PublicPlan
from .private.dataset import PrivateDataset, load_folder
from .private.encoders import Encoder, load_encoder
from .private.judge import PrivateJudge, UniformJudge
from .private.sources import DigitsSource, parse_source
from .providers import dialect as find_dialect
from .providers.dialect import Dialect, require
from .settings import RunSettings

SPLIT_SEED = 0
"""Which of scikit-learn's digits play the private ones; public."""


@dataclass(frozen=True, repr=False)
class Parts:
    """What a run is made of. ``test_is_public`` allows figures about the test data to be shown."""

    method: Method
    mechanism: Mechanism
    dialect: Dialect
    address: Address
    data: PrivateDataset
    test: PrivateDataset | None
    test_is_public: bool
    encoder: Encoder
    limits: Limits

    @classmethod
    def of(cls, settings: RunSettings) -> Parts:
        """Check every option, load the private data and the encoder.

        Raises:
            UsageError, DataError, ModelError: What is wrong, in one line.
        """
        epsilon = parse_epsilon(settings.epsilon)
        lifetime = parse_epsilon(settings.lifetime_epsilon) if settings.lifetime_epsilon else epsilon
        method = methods.method(settings.method)
        spoken = find_dialect(settings.dialect)
        require(spoken, set(method.needs))
        address = Address(settings.api, settings.key())
        data, test, public = _load(settings)
        return cls(
            method=method,
            mechanism=_mechanism(method.mechanism(), settings.insecure_noise_seed),
            dialect=spoken,
            address=address,
            data=data,
            test=test,
            test_is_public=public,
            encoder=load_encoder(settings.encoder, settings.encoder_weights, settings.device),
            limits=Limits(run=epsilon, lifetime=lifetime),
        )

    def query_cost(self, plan: PublicPlan) -> Fraction:
        """Pure-DP cost of each draw of a plan."""
        return self.method.query_cost(plan.epsilon_budget, plan.iterations, len(plan.labels))

    def judge(self, plan: PublicPlan, account: Account, transcript: Transcript) -> Judge:
        """The side that looks at candidates: the private one, or the control's blind one."""
        if self.method.utility is None:
            return UniformJudge(account, self.mechanism)
        return PrivateJudge(
            data=self.data,
            encoder=self.encoder,
            received=transcript.bodies.file,
            account=account,
            mechanism=self.mechanism,
            epsilon=self.query_cost(plan),
            utility=self.method.utility,
        )


def _mechanism(secure: ExponentialMechanism | UniformChoice, seed: int | None) -> Mechanism:
    return secure if seed is None else InsecureSeeded(seed, secure)


def _load(settings: RunSettings) -> tuple[PrivateDataset, PrivateDataset | None, bool]:
    source = parse_source(settings.private)
    if isinstance(source, DigitsSource):
        from .private.digits import load_digits  # scikit-learn takes seconds to load

        data, rest = load_digits(settings.shots, source.names, SPLIT_SEED)
        return data, rest, True
    data = load_folder(source.path)
    return data, _load_test(settings.test, data), False


def _load_test(path: str | None, data: PrivateDataset) -> PrivateDataset | None:
    if path is None:
        return None
    test = load_folder(Path(path), unique=False)
    if test.labels != data.labels:
        raise UsageError(f"--test {path} must have the same class folders as --private")
    return test
