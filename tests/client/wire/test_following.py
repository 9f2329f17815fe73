"""A run that starts from a release: more images, nothing private read or spent, and no image that no release chose."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import pcevolve
from pcevolve.keeper.finished.evaluating import EvaluationRequest, evaluate
from pcevolve.keeper.finished.held_out import find_private
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.fields import PlanEncoder, PlanProvider
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.source import KEPT
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.settings import MethodSettings
from pcevolve_shared import images
from support import online
from support.folders import events
from support.online import Heard, Reply, answer_json
from support.provider import answer_chat, png

ORIGIN = "the images that this run varies come from a run that passes its audit"


def vary(native, tmp_path, **changes: object) -> pcevolve.Result:
    given = {"candidates": 7, "out": tmp_path / "more", "quiet": True, "yes": True}
    return pcevolve.vary(tmp_path / "run", **given | changes)  # type: ignore[arg-type]


def content(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def doubts(audited: pcevolve.AuditResult) -> list[str]:
    """Verdicts of the claim about what is varied."""
    (found,) = [each for each in audited.findings if each.claim == ORIGIN]
    return [*found.faults, *filter(None, [found.unchecked])]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "dp-means", "delta": 1e-5},
        {"method": "dp-means", "delta": 1e-5, "appearance": "matched"},
        {"method": "pe", "delta": 1e-5, "class_counts": True, "candidates": 4},
        {"method": "t2i"},
    ],
    ids=str,
)
def test_more_images_cost_nothing_read_nothing_private_and_state_the_epsilon_of_the_release(
    evolved, native, private, tmp_path, options
):
    source = evolved(**options)
    before, spent = (
        content(tmp_path / "run"),
        LedgerBook(tmp_path / "ledger" / "ledger.sqlite", create=False).runs(),
    )
    shutil.rmtree(private)
    asked = len(native.heard)
    made = vary(native, tmp_path)
    assert [sum(each.label == label for each in made.images) for label in made.labels] == [7, 7]
    assert (made.epsilon, made.delta, made.plan.unit) == (source.epsilon, source.delta, source.plan.unit)
    card = (made.dataset / "README.md").read_text()
    digest = hashlib.sha256((source.dataset / "manifest.json").read_bytes()).hexdigest()
    assert f"The manifest of that release has sha256 `{digest}`" in card
    assert "as variations of a release. No private image was looked at again" in card
    released = {each.data for each in source.images}
    sent = [json.loads(each.body) for each in native.heard[asked:] if each.method == "POST"]
    assert {images.from_base64(each["image"]) for each in sent} <= released
    assert content(tmp_path / "run") == before
    assert LedgerBook(tmp_path / "ledger" / "ledger.sqlite", create=False).runs() == spent
    assert not {each["kind"] for each in events(made.folder)} & {"released"}
    assert doubts(made.verify())[0].startswith(
        "the run that released these images, and its epsilon, cannot be checked"
    )
    audited = made.verify(sources=[source.folder])
    assert audited, audited.faults
    assert not {each.data for each in made.images} & released


def test_the_shares_of_a_release_are_public_and_its_first_images_get_one_more(evolved, native, tmp_path):
    evolved(method="t2i", candidates=3)
    made = vary(native, tmp_path, candidates=7)
    of_class = [call for call in made.plan.round(0) if call.label == "type A"]
    by_source = {}
    for call in of_class:
        by_source[call.source] = by_source.get(call.source, 0) + call.count
    assert by_source == {"s000-c000-000000": 3, "s000-c000-000001": 2, "s000-c000-000002": 2}
    few = vary(native, tmp_path, candidates=2, out=tmp_path / "few")
    assert [call.source for call in few.plan.round(0)][:2] == ["s000-c000-000000", "s000-c001-000000"]
    assert len(few.images) == 4


def test_a_run_that_varies_a_variation_is_audited_with_both(evolved, native, tmp_path):
    source = evolved(method="pcevolve", epsilon=4)
    more = vary(native, tmp_path)
    again = pcevolve.vary(more.folder, candidates=3, out=tmp_path / "again", quiet=True)
    assert again.epsilon == source.epsilon > 0
    assert "give --from RUN" in doubts(again.verify(sources=[more.folder]))[0]
    assert again.verify(sources=[source.folder, more.folder])


def test_a_run_of_variations_that_is_cut_off_goes_on_and_asks_nothing_twice(
    evolved, native, tmp_path, command
):
    evolved(method="t2i")
    honest, seen = native.speak, len(native.heard)

    def speak(heard: Heard) -> Reply:
        posts = [each for each in native.heard[seen:] if each.method == "POST"]
        return answer_json(401, {"error": {"message": "key"}}) if len(posts) > 2 else honest(heard)

    native.speak = speak
    told = command("run", "--from", tmp_path / "run", "--candidates", 5, "--out", tmp_path / "more", "--yes")
    assert told.code == 6, told.said
    native.speak = honest
    told = command("run", "--resume", tmp_path / "more", "--json")
    assert told.code == 0, told.said
    assert json.loads(told.out)["images_released"] == 10
    slots = [each["slot"] for each in events(tmp_path / "more") if each["kind"] == "received"]
    assert len(slots) == len(set(slots))
    audited = pcevolve.verify(tmp_path / "more", sources=[tmp_path / "run"])
    assert audited, audited.faults


def test_a_look_begins_it_and_resume_goes_on(evolved, native, tmp_path, command):
    evolved(method="t2i")
    told = command("preview", "--from", tmp_path / "run", "--candidates", 20, "--out", tmp_path / "more")
    assert told.code == 0, told.said
    assert "made from the release" in told.said
    assert (tmp_path / "more" / "preview.html").is_file()
    assert "epsilon" not in command("plan", tmp_path / "more").said
    assert command("run", "--resume", tmp_path / "more").code == 0
    found = command("audit", tmp_path / "more", "--from", tmp_path / "run", "--html")
    assert found.code == 0, found.said
    assert command("audit", tmp_path / "more").code == 8
    page = (tmp_path / "more" / "audit" / "wire.html").read_text()
    assert "It is part of the release that this run starts from" in page


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"epsilon": 3}, "the release that the run varies determines epsilon"),
        ({"private": "scans"}, "the release that the run varies determines private"),
        ({"model": "other"}, "the release that the run varies determines model"),
        ({"candidates": 0}, "candidates"),
        ({"out": "run/more"}, "lies in"),
    ],
)
def test_what_a_release_settles_is_not_asked_for_anew(evolved, native, tmp_path, monkeypatch, changes, told):
    evolved(method="t2i")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pcevolve.UsageError, match=told):
        vary(native, tmp_path, **changes)
    assert not (tmp_path / "more").exists()


def test_what_is_no_release_is_refused_before_anything_is_sent(evolved, native, tmp_path):
    source, asked = evolved(method="t2i"), len(native.heard)
    shutil.copytree(source.folder, tmp_path / "kept")
    source.images[0].path.write_bytes(png(99))
    with pytest.raises(pcevolve.TranscriptError, match="is not the file that was released"):
        vary(native, tmp_path)
    shutil.rmtree(source.folder / "release")
    with pytest.raises(
        pcevolve.UsageError, match="an unfinished run: continue it with pcevolve run --resume"
    ):
        vary(native, tmp_path)
    shutil.copytree(tmp_path / "kept", source.folder, dirs_exist_ok=True)
    manifest = json.loads((source.folder / "release" / "manifest.json").read_text())
    manifest["transcript"]["head"] = "0" * 64
    (source.folder / "release" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(pcevolve.TranscriptError, match="is not of the record beside it"):
        vary(native, tmp_path)
    assert len(native.heard) == asked


def test_variations_that_come_back_unchanged_are_no_more_images(evolved, native, tmp_path):
    evolved(method="t2i")
    honest = native.speak

    def speak(heard: Heard) -> Reply:
        if not heard.path.endswith("image-to-image"):
            return honest(heard)
        asked = json.loads(heard.body)
        made = [{"image": asked["image"], "seed": asked["seed"]}] * asked.get("n", 1)
        return answer_json(200, {"images": made, "cost": 0.0} if len(made) > 1 else {**made[0], "cost": 0.0})

    native.speak = speak
    with pytest.raises(pcevolve.ProviderError, match="came back unchanged"):
        vary(native, tmp_path)


def speak_chat(heard: Heard) -> Reply:
    if heard.method == "GET":
        return answer_json(200, {"data": [{"id": "bundled"}]})
    return answer_json(200, answer_chat(json.loads(heard.body)))


def test_texts_start_from_a_release_too(tmp_path):
    server, table = online.LocalServer(speak_chat), tmp_path / "texts.csv"
    rows = [f"{word} in the {place},{word}" for word in ("bird", "boat") for place in ("x", "y", "z", "w")]
    table.write_text("\n".join(["text,label", *rows, ""]))
    provider = pcevolve.Provider(f"{server.address}/v1", dialect="chat", key=online.KEY)
    common = {"shots": 4, "candidates": 2, "batch": 2, "iterations": 1, "pad_selection": 0.01, "yes": True}
    source = pcevolve.evolve(
        private=table, domain="notes", provider=provider, out=tmp_path / "run", method="pe", delta=1e-5,
        ledger=tmp_path / "ledger" / "ledger.sqlite", quiet=True, **common,
    )  # fmt: skip
    made = pcevolve.vary(tmp_path / "run", candidates=3, out=tmp_path / "more", quiet=True, key=online.KEY)
    assert len(made.images) == 6
    assert made.epsilon == source.epsilon
    audited = made.verify(sources=[source.folder])
    assert audited, audited.faults
    server.close()


def test_what_a_plan_says_is_the_releases_or_the_new_runs_own():
    """A field that the promise of a release is about must not be forgotten."""
    own = (
        *("run_id", "library", "exact", "output", "start", "centre_first", "confinement", "format"),
        *(
            "provider.api",
            "provider.seed",
            "provider.batch",
            "provider.at_once",
            "provider.prompts",
            "encoder.frame",
        ),
        *("provider.operator", "provider.retention"),
        *(f"method.{name}" for name in MethodSettings.model_fields if name != "min_usable"),
    )
    parts = {"provider": PlanProvider, "encoder": PlanEncoder, "method": MethodSettings}
    names = {f"{part}.{name}" for part, kind in parts.items() for name in kind.model_fields}
    assert {*PublicPlan.model_fields} - {*parts} | names == {*KEPT, *own}


def test_words_about_the_provider_are_the_release_s_unless_others_are_given(evolved, native, tmp_path):
    evolved(method="t2i", operator="Example Ltd", retention="a week")
    provider = vary(native, tmp_path, retention="nothing").plan.provider
    assert (provider.operator, provider.retention) == ("Example Ltd", "nothing")
    elsewhere = vary(
        native, tmp_path, out=tmp_path / "elsewhere", api=native.address.replace("127.0.0.1", "localhost")
    )
    assert (elsewhere.plan.provider.operator, elsewhere.plan.provider.retention) == ("", "")
    assert elsewhere.verify(sources=[tmp_path / "run"])


def test_data_that_the_run_of_the_release_read_are_no_test_of_its_variations(
    evolved, native, private, tmp_path
):
    source = evolved(method="pe", delta=1e-5)
    made = vary(native, tmp_path)
    digests = [hashlib.sha256(b"nobody's").digest()]
    assert find_private(RunFolder(made.folder), made.plan, digests) == []
    with pytest.raises(pcevolve.DataError, match="part of these data are private data of the run"):
        evaluate(made.folder, EvaluationRequest(str(private), None, False, ("bundled",), None, "cpu", None))
    shutil.move(source.folder, tmp_path / "elsewhere")
    assert find_private(RunFolder(made.folder), made.plan, digests) is None
