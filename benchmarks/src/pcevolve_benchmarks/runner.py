"""Runs a baseline on public research data. It has no gate, no ledger and no record: never give it private data.

Whatever a baseline hands to the provider leaves, captions and pixels of the images themselves among it, nothing is
counted against a budget, and nobody can check afterwards what was sent. The client's own methods do not run here.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import numpy as np

from pcevolve.app.session.preflight import check_run
from pcevolve.errors import ProviderError, ProviderRefusedError, ProviderReplyError, UsageError
from pcevolve.keeper.components import Components
from pcevolve.keeper.evaluation.labelled import Labelled
from pcevolve.keeper.planning import resolve_plan
from pcevolve.public.calls import Call
from pcevolve.public.config.config import RunConfig
from pcevolve.public.loop.evolution import Ask
from pcevolve.public.media import UnreadableError, find_medium
from pcevolve.public.modality import ModelSize
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Prototype, PublicEcho
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.retry import Busy, RetryPolicy, require_final
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Transport
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.dialect import WireRequest
from pcevolve.wire.reaching import make_address, note_greeting
from pcevolve_benchmarks.baselines.catalogue import baseline
from pcevolve_benchmarks.baselines.session import Baseline, BaselineImages, BaselineSession, Options

NO_GATE: Final = "no gate, no ledger, no record: for public research data only"
RUN: Final = "run.json"
DATASET: Final = "dataset"
FALLBACK_SIZE: Final = ModelSize(512, 512)
"""Of images, where the API does not say which size its model makes."""
_RUN_ID: Final = "0" * 32
"""Nothing is on record, so no two runs have to be told apart."""


@dataclass(frozen=True)
class BenchResult:
    """A finished run of a baseline, as it lies in its folder.

    Attributes:
        root: The folder: ``run.json`` and the dataset in ``dataset``, a folder for each class.
        facts: What is in ``run.json``.
    """

    root: Path
    facts: Mapping[str, Any]

    @classmethod
    def load(cls, root: Path) -> BenchResult | None:
        """Read a finished run; None where there is none."""
        path = root / RUN
        return cls(root, json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None

    @property
    def voter(self) -> str | None:
        """The encoder that selected, if one did."""
        found = self.facts["encoder"]
        return None if found is None else str(found)

    def dataset(self, labels: Sequence[str]) -> Labelled:
        """Its images with their classes, in the order of the labels."""
        kind = find_medium(self.facts["kind"])
        files = [sorted((self.root / DATASET / label).glob(f"*{kind.suffix}")) for label in labels]
        targets = np.repeat(np.arange(len(labels)), [len(each) for each in files])
        paths = [path for each in files for path in each]
        names = tuple(str(path.relative_to(self.root)) for path in paths)
        return Labelled([kind.decode_release(path.read_bytes()) for path in paths], targets, names)


def settings_of(options: Options, out: Path) -> RunConfig:
    """The client's options of a run that has a baseline's plan.

    Args:
        options: As for ``pcevolve run``, with a baseline's name for ``method``, and its own.
        out: Folder of the run.

    Raises:
        UsageError: There is no such baseline, or options do not go together.
    """
    chosen = baseline(str(options["method"]))
    given = {name: value for name, value in options.items() if name not in chosen.own and value is not None}
    delta = {} if "delta" in given else {"delta": chosen.delta}
    return RunConfig.of({**given, **delta, **chosen.usual(given), "method": chosen.base, "out": out})


def run(options: Options, out: Path, transport: Transport | None = None) -> BenchResult:
    """Make a baseline's dataset out of PUBLIC images; one that is in the folder is not made again.

    Args:
        options: See ``settings_of``.
        out: Folder of the run; one that was cut off is made anew, for there is no record to go on from.
        transport: The way to who makes the images; the network if not given.

    Raises:
        ClientError: Why it could not be made.
    """
    known = BenchResult.load(out)
    if known is not None:
        return known
    chosen = baseline(str(options["method"]))
    partial = out.with_name(f"{out.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    settings = settings_of(options, partial)
    checked = check_run(settings)
    components = Components.of(checked)
    address = make_address(settings.provider, checked.key)
    partial.mkdir(parents=True)
    with closing(transport or HttpTransport(settings.provider.timeout, address.route)) as way:
        session = _session(chosen, components, Direct(components, address, way), options)
        made = chosen.carry_out(session)
    _write(partial, chosen, session, made)
    if out.is_dir() and not any(out.iterdir()):
        out.rmdir()
    partial.rename(out)
    found = BenchResult.load(out)
    assert found is not None
    return found


def _session(chosen: Baseline, components: Components, direct: Direct, options: Options) -> BaselineSession:
    """Ask the provider who it is, and make the plan."""
    settings = components.settings
    api_dialect = dialect(settings.provider.dialect)
    if direct.address.greets:
        greeting = direct.answer(api_dialect.hello(), first=True).body
        said = note_greeting(api_dialect, settings.provider.model, greeting)
        plan = resolve_plan(components, _RUN_ID, said.model_copy(update={"exact": None}))
    else:
        plan = resolve_plan(components, _RUN_ID)
    if plan.method.appearance != "as-is":
        raise UsageError("--appearance: baselines take images as they are: leave it out")
    plan = chosen.planned(plan)
    accesses = dict(enumerate(chosen.accesses(components.limits.run, components.scope), 1))
    own = {name: options[name] for name in chosen.own if options.get(name) is not None}
    return BaselineSession(components, plan, direct.with_plan(plan), accesses, own)


def _write(folder: Path, chosen: Baseline, session: BaselineSession, made: BaselineImages) -> None:
    """The dataset, each image decoded and encoded anew, and what was chosen on the way; the facts come last."""
    plan = session.plan
    kind = find_medium(plan.modality.kind)
    for label, of_class in made.dataset.items():
        (folder / DATASET / label).mkdir(parents=True, exist_ok=True)
        for each in of_class:
            try:
                data = kind.encode_release(session.sender.received(each.digest), None)
            except UnreadableError:
                continue
            (folder / DATASET / label / f"{each.id}{kind.suffix}").write_bytes(data)
    settings = session.components.settings
    facts = {
        "baseline": chosen.name,
        "about": NO_GATE,
        "protects": chosen.protects,
        "kind": plan.modality.kind,
        "encoder": plan.encoder.name if chosen.compares else None,
        "seed": settings.provider.seed,
        "noise_seed": settings.privacy.insecure_noise_seed,
        "epsilon": plan.privacy.epsilon,
        "delta": plan.privacy.delta,
        "requests": session.sender.requests,
        "plan": plan.model_dump(mode="json"),
        "rounds": [asdict(each) for each in made.rounds],
    }
    (folder / RUN).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True, repr=False)
class Direct:
    """A ``Sender`` that hands whatever it is given to the provider, one request after the other.

    Attributes:
        components: Know the dialect and the options.
        transport: To the provider.
        plan: Whose words are sent; none before the provider was greeted.
    """

    components: Components
    address: Address
    transport: Transport
    plan: PublicPlan | None = None
    _received: dict[str, bytes] = field(default_factory=dict)
    _calls: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """How many calls were answered."""
        return len(self._calls)

    def with_plan(self, plan: PublicPlan) -> Direct:
        """This provider, asked with the words of a plan."""
        return replace(self, plan=plan)

    def received(self, digest: str) -> bytes:
        """Return the bytes that the provider had sent, by digest."""
        return self._received[digest]

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Answer calls in their order."""
        for call, source in asks:
            if isinstance(source, Prototype | PublicEcho):
                candidate = source.candidate
                yield self.make(call, self._received[candidate.digest], candidate.id)
            else:
                yield self.make(call, None, None)

    def make(self, call: Call, image: bytes | None, parent: str | None) -> tuple[Candidate, ...]:
        """Make the images of a call that varies these bytes, or none.

        Raises:
            ProviderError: No usable answer.
        """
        assert self.plan is not None
        api_dialect = dialect(self.components.settings.provider.dialect)
        body = self.answer(api_dialect.encode(self.plan, call, image)).body
        if api_dialect.links(call, body):
            raise UsageError(
                f"dialect '{api_dialect.name}' answers with links, which baselines do not follow"
            )
        outputs = api_dialect.read_outputs(call, body)
        made = [each for each in outputs if isinstance(each, bytes)]
        if error := next((each for each in outputs if isinstance(each, ProviderError)), None):
            raise error
        named = tuple(Candidate.received(call, index, parent, data) for index, data in enumerate(made))
        self._calls.append(call.slot)
        self._received.update((each.digest, data) for each, data in zip(named, made, strict=True))
        return named

    def answer(self, request: WireRequest, *, first: bool = False) -> Incoming:
        """Send a request, again as long as the options have patience; only briefly at ``first``.

        Raises:
            ProviderError: No usable answer.
        """
        settings = self.components.settings
        outgoing = self.address.outgoing(request)

        def attempt() -> Incoming:
            try:
                answer = self.transport.send(outgoing)
            except ConnectionTroubleError as error:
                raise Busy(error.reason, None) from error
            if self.address.is_revealed_by(answer):
                raise ProviderReplyError(f"the API's answer (HTTP {answer.status}) repeats the API key")
            if answer.status == HTTPStatus.OK:
                return answer
            fault = dialect(self.components.settings.provider.dialect).fault(answer.status, answer.body)
            reason = require_final(answer.status, fault, answer.header("Retry-After"))
            raise ProviderRefusedError(f"the API refused: {reason}")

        patience = RetryPolicy(
            settings.provider.patience,
            settings.provider.first_contact,
            advice="run this again",
        )
        return (patience.for_first_contact() if first else patience).until_answered(attempt)
