"""The audit believes nothing that the record does not prove."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from leaks.forgeries.corpus import FORGERIES
from leaks.forgeries.forging import Forgery, edited, refused, write_into
from leaks.forgeries.order import asked_for_the_balance
from leaks.forgeries.receipts import receipted
from pcevolve.auditing import Audit, audit, find_encoder
from pcevolve.auditing.checks import list_claims
from pcevolve.errors import ModelError, ProviderReplyError, UsageError
from pcevolve.public.clinics.owners import spell_key
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.loop.evolution import Ask, evolve
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.methods import SecretEvolution
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Choice, Chosen, Query, Receipt
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.selectors import METHODS, find_method
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.dialect import find_misstatements
from pcevolve_shared import images, wire
from support.comfyui import UPLOADED, WORKFLOW
from support.examples import examples
from support.forge import faults_of, find_event, forge
from support.paid import make_paid_run
from support.plans import CASES, PROMPTS, plan_of
from support.provider import FakeProvider, ok, png
from support.runs import Silent, SmallRun, small_plan

SELECTED = {"pool": "all", "keep": "selected", "initial": 5}
VARIANTS = {
    "lookahead": {"lookahead": 2},
    "more samples": {"more": 2},
    "all generations": {"pool": "all", "initial": 5},
    "selected dataset": SELECTED,
    "several prototypes": {"prototypes": 3},
    "one class": {"labels": ("cut",)},
    "selected without evolution": {"keep": "selected", "iterations": 0, "strengths": (), "initial": 5},
}
MADE = ("release", "summary.json", "report.html")


def finish(root: Path, **changes: object) -> Path:
    return make_paid_run(root, small_plan(**changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finish(tmp_path_factory.mktemp("run"))


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))


@pytest.mark.parametrize("name", VARIANTS)
def test_an_honest_run_of_any_shape_passes_every_check(tmp_path: Path, name: str):
    finish(tmp_path, **VARIANTS[name])
    assert faults_of(tmp_path) == []
    made = json.loads((tmp_path / "release" / "manifest.json").read_text())["files"]
    assert len(list((tmp_path / "release").rglob("*.png"))) == len(made) > 0


@pytest.mark.parametrize("changes", [{}, {"dialect": "chat"}], ids=["images", "texts"])
def test_answers_that_begin_with_a_byte_order_mark_are_read_by_every_check(tmp_path: Path, changes: dict):
    def marked(request: Outgoing) -> Incoming:
        answer = FakeProvider().answer(request)
        return replace(answer, body=b"\xef\xbb\xbf" + answer.body)

    run = SmallRun.open(tmp_path, small_plan(**changes), FakeProvider(marked))
    run.finish()
    assert faults_of(tmp_path) == []


def test_a_dataset_of_which_one_class_has_nothing_is_no_fault(tmp_path: Path):
    """Every release was among enough; what was paid for is kept."""
    asked: list[Outgoing] = []

    def answer(request: Outgoing) -> Incoming | None:
        asked.append(request)
        fields = json.loads(request.body or b"{}")
        if len(asked) <= 9 or "good" not in fields["prompt"]:
            return None
        made = [{"image": images.to_base64(png(1)), "seed": each} for each in range(fields.get("n", 1))]
        return ok({"images": made, "cost": 0.0} if len(made) > 1 else {**made[0], "cost": 0.0})

    assert faults_of(make_paid_run(tmp_path, small_plan(), FakeProvider(answer))) == []
    assert len(asked) == 13


def test_any_changed_byte_of_the_transcript_is_noticed(finished: Path, tmp_path: Path):
    files = sorted(path for path in (finished / "transcript").rglob("*") if path.is_file())
    random = np.random.default_rng()  # other bytes every time
    for number in range(examples(120)):
        source = files[number % len(files)]
        data = bytearray(source.read_bytes())
        place = int(random.integers(len(data)))
        data[place] ^= 1 << int(random.integers(8))
        root = Path(shutil.copytree(finished, tmp_path / "changed"))
        (root / source.relative_to(finished)).write_bytes(data)
        assert faults_of(root), f"byte {place} of {source.name} became {data[place]}"
        shutil.rmtree(root)


# -- forged records: the quick ones of those that an auditor is handed in tests/leaks -------------------------------

QUICK = (
    *("a greeting after the plan", "a receipt left out", "a second closing line", "no closing line"),
    *("another mechanism", "a number beside the choice", "measured where nobody looked"),
    *("an image of another class", "an image of an earlier round", "outputs in another order"),
    *("another host", "a header of its own", "a key that is longer in one request", "an answer's length"),
    *("body: a private picture", "body: words in a prompt", "body: a seed", "body: a field of its own"),
    *("requests in the closing line", "a second log", "two images exchanged"),
    *("an image left out and called unreadable", "manifest: a smaller epsilon", "manifest: fewer events"),
)


@pytest.mark.parametrize(
    "forgery", [each for each in FORGERIES if each.kind == "control" and each.name in QUICK], ids=str
)
def test_a_run_that_lies_is_told(copy: Path, forgery: Forgery):
    found, told = refused(forgery, copy)
    assert found, told


def test_the_quick_forgeries_are_all_there():
    assert {*QUICK} <= {each.name for each in FORGERIES if each.kind == "control"}


def test_the_balance_may_be_asked_for_once_before_the_plan(copy: Path):
    asked_for_the_balance(1)(copy)
    assert faults_of(copy) == []


def test_how_often_a_request_failed_and_the_key_changed_is_told_for_either_could_say_something(
    tmp_path: Path,
):
    asked: list[Outgoing] = []

    def fail_once(request: Outgoing) -> None:
        asked.append(request)
        if len(asked) == 3:
            raise ConnectionTroubleError("the connection broke")

    def exchange(events: list[dict]) -> None:
        for event in events[events.index(next(each for each in events if each["kind"] == "failed")) :]:
            event.update({"wire_bytes": event["wire_bytes"] + 5} if event["kind"] == "sent" else {})

    make_paid_run(tmp_path, small_plan(), FakeProvider(fail_once))
    forge(tmp_path, exchange)
    assert faults_of(tmp_path) == []
    claims = " ".join(each.claim for each in audit(tmp_path))
    assert (
        "in the same order; only the record says that 1 requests got no answer and 1 answers came under a different key"
        in claims
    )


def test_a_way_to_the_api_that_none_can_go_is_told(copy: Path):
    edited("opened", lambda event: event.update(proxied=True))(copy)
    assert "line 1: a proxy carries https alone" in faults_of(copy)


def test_the_choices_of_a_run_that_was_cut_off_are_checked_too(tmp_path: Path):
    means = {**SELECTED, "method": "dp-means", "delta": 1e-5, "centre_first": True, "prototypes": 2}
    honest = finish(tmp_path / "honest", **means, candidates=4)
    forged = Path(shutil.copytree(honest, tmp_path / "forged"))
    receipted(lambda receipt: receipt["choices"][0]["chosen"].reverse())(forged)
    for root in (honest, forged):
        truncate(root)
        remove(root, *MADE)
    assert faults_of(honest) == []
    assert "receipt for iteration 1: its choices do not follow from what was measured" in faults_of(forged)


def test_a_plan_is_of_the_run_that_the_record_was_opened_for(tmp_path: Path):
    """Where nothing is chosen, no receipt says whose it is."""
    finish(tmp_path, method="t2i", iterations=0, strengths=())
    forge(tmp_path, lambda events: find_event(events, "planned")["plan"].update(run_id="f" * 32))
    said = "the plan is for another run, address or dialect than the record was opened for"
    assert faults_of(tmp_path) == [said]


def test_the_receipt_of_the_dataset_is_one_of_this_run(tmp_path: Path):
    """No request follows it that another run's would not allow."""
    finish(tmp_path, pool="all", keep="selected")
    forge(tmp_path, lambda events: find_event(events[::-1], "released")["receipt"].update(run_id="f" * 32))
    assert "for another run or relation" in " ".join(faults_of(tmp_path))


# -- what is left of a run -----------------------------------------------------------------------------------------


def remove(root: Path, *names: str) -> None:
    for name in names:
        shutil.rmtree(root / name) if (root / name).is_dir() else (root / name).unlink()


def truncate(root: Path) -> None:
    log = root / "transcript" / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))


def test_what_a_crash_tore_off_is_not_read_and_breaks_nothing_unless_the_record_was_closed(copy: Path):
    log, half = copy / "transcript" / "log.jsonl", copy / "transcript" / "bodies" / f".{'0' * 64}.partial"
    whole = log.read_bytes()
    for root_is, lines in (("broken", whole), ("unfinished", b"".join(whole.splitlines(keepends=True)[:-1]))):
        remove(copy, *(name for name in MADE if root_is == "unfinished"))
        for torn in (b"", whole[:100]):
            log.write_bytes(lines + torn)
            half.touch()
            assert bool(faults_of(copy)) == (root_is == "broken")
            told = [each.pending for each in audit(copy) if each.pending]
            assert ["and the last line is incomplete; " in each for each in told] == [bool(torn)] * len(told)
            half.rename(other := half.with_name("0" * 64))
            assert faults_of(copy), "its name is not what it holds"
            other.unlink()
            assert bool(faults_of(copy)) == (root_is == "broken" and bool(torn))


def test_what_a_killed_command_or_a_system_left_is_a_fault_with_advice(copy: Path):
    for name, said in (
        (".DS_Store", " (systems make such unasked: delete it)"),
        (
            ".report.html.partial",
            f"; an interrupted command may have left it: pcevolve report {copy} removes it",
        ),
    ):
        (copy / name).touch()
        assert faults_of(copy) == [f"'{name}' does not belong to a run{said}"]
        (copy / ".DS_Store").unlink(missing_ok=True)
    with RunFolder(copy).hold():
        assert faults_of(copy) == []


@pytest.mark.parametrize("kept", ["summary.json", "report.html", "release-parquet", "release-webdataset"])
def test_a_release_cannot_be_hidden_while_something_that_was_made_of_it_is_left(copy: Path, kept: str):
    exports = {"release-parquet", "release-webdataset"}
    for name in exports:
        (copy / name).mkdir()
    remove(copy, *({*MADE, *exports} - {kept}))
    wrong = faults_of(copy)
    assert any(f"but the folder contains {kept}" in each for each in wrong)
    assert "release/manifest.json is missing" in wrong


@pytest.mark.parametrize("left", ["manifest.json", "cut", "README.md"])
def test_a_release_of_which_a_part_is_left_is_no_release_that_was_never_made(copy: Path, left: str):
    remove(copy, "summary.json", "report.html")
    remove(copy, *(f"release/{each.name}" for each in (copy / "release").iterdir() if each.name != left))
    assert [each for each in faults_of(copy) if each.startswith("release/") and each.endswith(" is missing")]


@pytest.mark.parametrize("is_told", [True, False])
def test_a_plan_says_of_the_provider_s_images_what_the_provider_did(tmp_path: Path, is_told: bool):
    said = {"images": 7, "licences": [{"name": "CC0-1.0", "images": 7}], "licence_files": []}
    size = {"width": 16, "height": 16}
    models = [{"id": "bundled", "name": "b", "base_resolution": size, "library": said}]
    library = dialect("getimg").library("bundled", json.dumps(models).encode())
    assert library is not None
    provider = FakeProvider(lambda request: ok(models) if request.url.endswith(wire.MODELS) else None)
    root = make_paid_run(tmp_path, small_plan(library=library if is_told else None), provider)
    told = "the plan says another thing of the provider's images than the provider did"
    assert any(told in fault for fault in faults_of(root)) is not is_told


OTHERS: dict[str, list[Any]] = {
    "format": [2], "run_id": ["f" * 32], "provider.seed": [8],
    "provider.workflow": (WORKFLOW.replace("blurred", "patient 17"),),
    "provider.operator": ["patient 17"], "provider.retention": ["patient 17"], "provider.api": ["http://127.0.0.1:8"],
    "provider.dialect": [*ABILITIES], "provider.model": ["other"],
    "method.name": [*METHODS], "method.strength_start": [0.5], "method.strength_end": [0.5],
    "method.secret_prior": [0.01], "method.secret_bound": [0.1], "method.secret_size": [3],
    "data.domain": ["cells"], "labels": [["cut", "fine"]], "data.words": [["a", "b"], ["x", "y"]],
    "provider.prompt_template": ["{domain}, {label}"], "provider.prompts": [PROMPTS, [[], []]],
    "provider.answered_by": ["other"],
    "method.candidates": [12, 3], "method.initial": [6, 40], "method.prototypes": [1, 2, 3],
    "method.min_usable": [0.3], "method.lookahead": [0, 2],
    "method.more": [0, 2], "method.pool": ["latest", "survivors", "all"], "method.keep": ["last", "selected"],
    "method.appearance": ["as-is", "matched", "auto"], "centre_first": [True, False],
    "method.threshold": [0.5],
    "method.threshold_end": [0.25], "method.votes": [3], "method.class_counts": [True, False],
    "method.cells": [2, 3, None], "method.tau": [5.0],
    "method.selection": ["rank", "prob"], "method.variations": [1, 2, 3],
    "method.calibration": ["published", "tight"],
    "method.iterations": [1, 3], "method.strengths": [[0.8, 0.5], [0.9], []], "method.vary_by": ["image",
    "prompt"],
    "method.vary_with": ["own prompt", "template"], "provider.batch": [1, 33], "provider.at_once": [5],
    "privacy.relation": ["add-remove"],
    "unit": ["patient"], "data.unit_size": [4], "namespaced": [True], "data.shots": [11],
    "data.subsample": [10, 11],
    "data.window": ["0,255"], "privacy.epsilon": ["9", "20/2"], "privacy.delta": [0.0, 1e-6],
    "encoder.name": ["words", "bundled", "other", ""],
    "encoder.frame": ["0" * 64, None], "encoder.weights": ["0" * 64, None],
    "provider.image_hosts": [["a.example"]],
    "noise": ["INSECURE-seeded"], "privacy.forget_insecure": [True],
    "earlier": [{"releases": 3, "events": [{"mechanism": "gaussian", "parameter": "17", "count": 1}]}],
    "start": [{"manifest": "5" * 64, "images": [["6" * 64], ["7" * 64]]}],
    "clinics": [{"owners": [{"name": name, "shots": 5, "key": spell_key(name.encode() * 64)} for name in "ab"]}],
    "library": [{"images": 3}], "exact": ["no"], "confinement": [{"by": "containers"}], "output.licence": ["mit"],
    "secrecy": [{"prior": 0.001, "bound": 0.1, "most": 3}, None],
    "modality.kind": ["image", "text"], "modality.negative_prompt": ["blur"],
    "modality.guidance": [3.0, None],
    "modality.steps": [7, None], "modality.sampler": ["euler"], "modality.adapter": ["ip"],
    "modality.adapter_scale": [0.5], "modality.width": [24], "modality.height": [24],
    "modality.sized": [True, False], "modality.graded": [True, False], "modality.tokens": [41],
    "modality.temperature": [0.5, None], "modality.fields": [["seed="], ["max_tokens=most"]],
}  # fmt: skip
"""Other values of every field, of a plan's part about images or texts under ``modality``."""
COMPARED_WITH_THE_GREETING = {"library", "exact"}
"""``tests/client/auditing`` has forged ones."""


def with_value(plan: PublicPlan, name: str, value: object) -> PublicPlan:
    """A plan read from a record that says something else; ``ValidationError`` if none can say it."""
    written = plan.model_dump(mode="json")
    part, _, key = name.rpartition(".")
    (written.setdefault(part, {}) if part else written)[key] = value
    if name == "method.iterations":  # the other half of one statement
        written["method"]["strengths"] = [0.8] * int(str(value)) if plan.method.strengths else []
    return PublicPlan.model_validate_json(json.dumps(written))


@dataclass
class Imagined:
    """A provider of digests, and a judge that takes the first; ``seen`` is what an audit would compare."""

    plan: PublicPlan
    seen: list[Any] = field(default_factory=list)

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Spell each request as it would leave."""
        for call, source in asks:
            image = (
                None if source is None or self.plan.varies_prompts else self._image(source.candidate.digest)
            )
            spoken = dialect(self.plan.provider.dialect)
            self.seen.append(spoken.encode(self.plan, call, image))
            with suppress(ProviderReplyError):  # of all others it is no answer
                self.seen.append(spoken.follow_up(self.plan, call, [UPLOADED]))
            parent = None if source is None else source.candidate.id
            made = [f"{call.slot}/{place}".encode() for place in range(call.count)]
            yield tuple(Candidate.received(call, place, parent, each) for place, each in enumerate(made))

    def _image(self, digest: str) -> bytes:
        return (
            png(int(digest[:4], 16))
            if self.plan.modality.kind == "image"
            else f"some words {digest}".encode()
        )

    def show(self, query: Query, pool: Pool) -> None:
        """Nothing to prepare."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Note what there is to choose from."""
        self.seen.append([[each.id for each in of_class] for of_class in pool.candidates.values()])
        wanted = self.plan.wanted(query.iteration)
        choices = tuple(
            Choice(label, tuple(Chosen(each.id, each.digest) for each in (of_class * wanted)[:wanted]))
            for label, of_class in pool.candidates.items()
        )
        return Receipt(
            self.plan.run_id, query.iteration, choices if wanted else (), (), self.plan.privacy.relation
        )


@cache
def show(plan: PublicPlan) -> tuple[Any, ...]:
    """All that an audit holds against requests, receipts and release of a plan, and why the plan is refused."""
    spoken = dialect(plan.provider.dialect) if plan.provider.dialect in ABILITIES else None
    if spoken is None or spoken.abilities.makes != plan.modality.kind or [*find_misstatements(spoken, plan)]:
        return ("refused",)
    try:
        events = find_method(plan.method.name).plan_events(plan)
    except UsageError:
        return ("refused",)
    imagined = Imagined(plan)
    evolve(plan, imagined, imagined, Silent(), lambda digest: digest)
    opened = (plan.run_id, plan.provider.api, plan.provider.dialect, plan.provider.model)
    # What was measured has to be of so many cells, and in this frame.
    measured = (plan.method.of(SecretEvolution).cells, plan.encoder.frame)
    return (opened, events, tuple(map(repr, imagined.seen)), plan.method.appearance, measured)


@cache
def is_at_hand(plan: PublicPlan) -> bool:
    """True if the encoder that a plan names is, in the very weights."""
    try:
        return not plan.encoder.name or find_encoder(plan) is not None
    except ModelError:
        return False


OF_VARYING = {"method.vary_by", "method.prototypes"}
"""Where an API varies no image, requests do not show these: the receipts and the second check do."""


@pytest.mark.parametrize(("method", "spoken"), CASES)
def test_no_field_of_a_plan_is_a_free_word(method: str, spoken: str):
    plan = plan_of(method, spoken)
    assert show(plan) != ("refused",)
    sections = ("data", "privacy", "method", "provider", "encoder", "output", "modality")
    names = {*PublicPlan.model_fields} - {*sections}
    names |= {f"{each}.{name}" for each in sections for name in type(getattr(plan, each)).model_fields}
    assert names <= OTHERS.keys()
    if "vary" not in ABILITIES[spoken].capabilities:
        names -= OF_VARYING
    claims, written, free = list_claims(plan), json.loads(plan.model_dump_json()), []
    for name in sorted(names):
        part, _, key = name.rpartition(".")
        known = (written.get(part, {}) if part else written).get(key)
        for value in OTHERS[name]:
            if json.loads(json.dumps(value)) == known or name in claims or name in COMPARED_WITH_THE_GREETING:
                continue
            try:
                other = with_value(plan, name, value)
            except ValidationError:
                continue
            if name.startswith("encoder.") and not is_at_hand(other):
                continue
            if other != plan and show(other) == show(plan):
                free.append((name, value))
    assert free == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"encoder": {"frame": None}}, "edited"),  # its default, spelled out
        ({"method": {"tau": 3.7}}, "damaged"),
        ({"method": {"threshold": 0.123}}, "damaged"),
        ({"data": {"unit_size": 1234}}, "damaged"),
        ({"encoder": {"name": "patient 17"}}, "damaged"),
        ({"earlier": {"releases": 17, "events": []}}, "damaged"),
        ({"privacy": {"epsilon": "20/2"}}, "damaged"),
        ({"provider": {"answered_by": "patient-17"}}, "no answer named that model"),
    ],
)
def test_a_control_s_plan_with_a_word_that_means_nothing_is_refused(
    tmp_path: Path, changes: dict[str, Any], fault: str
):
    root = make_paid_run(tmp_path / "run", small_plan())
    assert Audit.of(root).holds
    edited("planned", lambda event: write_into(event["plan"], changes))(root)
    assert any(fault in each for each in Audit.of(root).faults), Audit.of(root).faults


def test_an_audit_lists_what_is_the_owner_s_word(tmp_path: Path):
    root = make_paid_run(tmp_path / "run", small_plan(licence="mit", min_usable=0.3))
    claims, due = (
        Audit.of(root).claims,
        {"output.licence": "mit", "method.min_usable": 0.3, "data.shots": 10, "unit": "image"},
    )
    assert claims.items() >= due.items()
    assert not claims.keys() & {"method.tau", "method.votes", "earlier", "data.unit_size"}
