"""Nothing is paid for where the provider sent too little to choose from; the rule is public and the plan's."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from pcevolve.app.first.demo import OF_CONTROL
from pcevolve.auditing import audit
from pcevolve.errors import EgressError, UnusableError
from pcevolve.public.loop.evolution import evolve
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.loop.usability import Usability
from pcevolve.public.loop.usable import ClassUsability
from pcevolve.public.media import find_medium
from pcevolve.public.publish.dataset import publish, write_summary
from pcevolve.public.publish.release import DatasetRelease
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.asking import RecordingJudge
from pcevolve_shared import images
from support.pools import flat, look_at, pool_of, population_of
from support.provider import FakeProvider, answering, meddling, png
from support.runs import Silent, SmallRun, small_plan

Make = Callable[[int], bytes]


def as_file(kind: str, **more: object) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (9, 9), "red").save(buffer, kind, **more)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (b"no image", "unreadable"),
        (png(1)[:100], "unreadable"),
        (as_file("AVIF"), "in AVIF, which is not read: ask for PNG"),
        (as_file("GIF"), "in GIF, which is not read: ask for PNG"),
        (as_file("WEBP", save_all=True, append_images=[Image.new("RGB", (9, 9))]), "animated"),
        (as_file("PNG", save_all=True, append_images=[Image.new("RGB", (9, 9))]), "animated"),
        (b"\0\0\0\x18ftypisom" + bytes(99), "unreadable"),
        (flat(0), "all of one colour"),
        (flat(255), "all of one colour"),
        (flat(100, spread=8), "all of one colour"),
        (flat(100, spread=9), ""),
        (png(1), ""),
    ],
)
def test_what_is_no_image_or_of_one_colour_cannot_be_used(made: bytes, fault: str):
    assert find_medium("image").check(made).fault == fault


@pytest.mark.parametrize(("different", "enough"), [(99, False), (100, True)])
def test_a_hundred_that_differ_are_enough_of_however_many(different: int, enough: bool):
    made = [png(place % different) for place in range(500)]
    assert look_at(*made).enough == enough


def test_with_lookahead_a_candidate_is_what_its_variations_are():
    def look_by(view: Callable[[int], list[bytes]]) -> ClassUsability:
        return look_at(*map(png, range(3)), views={place: view(place) for place in range(3)})

    found = look_by(lambda place: [flat(0), flat(0)])
    assert (found.enough, dict(found.faults)) == (False, {"all of one colour": 3})
    assert look_by(lambda place: [flat(0), png(place + 9)]).enough
    found = look_by(lambda place: [png(place)])
    assert (found.unchanged, found.enough) == (3, False), "the candidate itself leaves nothing to choose"


def test_a_round_that_brought_nothing_is_not_made_good_by_what_came_before():
    early, stored = population_of(*map(png, range(4)))
    late, more = population_of(*[flat(0)] * 4, iteration=1)
    usability = Usability(small_plan(labels=("cut",), pool="all"), (stored | more).__getitem__)
    assert [(each.sent, each.enough) for each in usability.of(Pool({"cut": early + late}))] == [(4, False)]


def vary(*pairs: tuple[bytes, bytes], share: float = 0.25) -> tuple[ClassUsability, list[str]]:
    """Describe a round that brought the first of each pair where the second was to be varied."""
    pool, stored = pool_of(*(made for made, _ in pairs), iteration=1)
    stored |= {f"f{place:063d}": source for place, (_, source) in enumerate(pairs)}
    sources = {each.id: f"f{place:063d}" for place, each in enumerate(pool.candidates["cut"])}
    usability = Usability(small_plan(labels=("cut",), min_usable=share), stored.__getitem__)
    whole = Pool(pool.candidates, {}, sources)
    (found,) = usability.of(whole)
    return found, list(usability.notes(whole))


def test_the_demonstration_with_texts_bears_a_control_that_keeps_short_ones():
    """A few words come back as they were: of a control's 40 texts 31 and 32 did, and it ended the demonstration."""
    made = [(png(seed), png(seed if seed < 35 else seed + 40)) for seed in range(40)]
    assert not vary(*made)[0].enough
    assert vary(*made, share=OF_CONTROL["min_usable"])[0].enough


def test_what_comes_back_unchanged_is_no_new_candidate():
    found, notes = vary(*((png(seed), png(seed)) for seed in range(8)))
    assert (found.usable, found.unchanged, found.enough) == (8, 8, False)
    assert notes == ["of class 'cut' 8 of 8 images can be used (8 came back unchanged)"]
    found, notes = vary(*((png(seed), png(seed // 4 * 9)) for seed in range(8)))
    assert (found.unchanged, found.enough) == (1, True)
    assert notes == ["of class 'cut' 8 of 8 images can be used (1 came back unchanged)"]


def echoing() -> FakeProvider:
    """A provider that hands back what it is to vary, whatever the strength."""
    return answering(lambda fields, place: images.from_base64(fields["image"]) if "image" in fields else None)


def test_what_was_spent_is_asked_of_the_ledger_on_a_refusal_alone():
    """How long a ledger takes depends on what others enrolled, and this is asked outside padded sections."""
    made, stored = population_of(*map(png, range(4)))
    usability = Usability(small_plan(labels=("cut",)), stored.__getitem__)
    usability.require(Pool({"cut": made}), lambda: pytest.fail("asked"))
    with pytest.raises(UnusableError, match="all of it is left"):
        usability.require(Pool({"cut": made[:1] * 4}), lambda: "all of it is left")


@pytest.mark.parametrize(
    "make", [lambda seed: flat(0), lambda seed: png(4), lambda seed: b"no"], ids=["black", "same", "broken"]
)
def test_nothing_is_released_where_nothing_that_came_can_be_chosen(tmp_path: Path, make: Make):
    run = SmallRun.open(tmp_path, provider=meddling(make))
    with pytest.raises(UnusableError, match=r"of class 'cut' .* 2 different ones are needed"):
        run.evolve()
    assert run.account.receipts() == ()


@pytest.mark.parametrize(
    ("provider", "told"),
    [
        (meddling(lambda seed: flat(0), since=4), r"0 of 3 images can be used \(3 are all of one colour\)"),
        (echoing(), r"3 of 3 images can be used \(3 came back unchanged\)"),
    ],
    ids=["black", "unchanged"],
)
def test_where_a_later_round_brings_nothing_new_no_more_is_paid_and_what_was_chosen_is_released(
    tmp_path: Path, provider, told
):
    run = SmallRun.open(tmp_path, provider=provider)
    evolved = run.finish()
    (receipt,) = run.account.receipts()
    released = {each.id for label in evolved.dataset for each in evolved.dataset[label]}
    assert released >= {each.id for label in run.plan.labels for each in receipt.of(label)}
    assert re.search(told, Usability(run.plan, run.transcript.bodies.file).fault(evolved.ended_by))
    record = RunReader.strict(tmp_path)
    assert record.manifest().files
    assert (
        "the selection of the last release, with variations of it. Only 1 of 2 rounds were made"
        in record.manifest().how_made
    )
    assert [fault for each in audit(tmp_path) for fault in each.faults] == []


def finish_regardless(root: Path, provider: FakeProvider, **changes: object) -> Path:
    """A run whose client does not look at what came."""
    run = SmallRun.open(root, small_plan(**changes), provider)
    judge = RecordingJudge(run.judge, run.gate, lambda pool: None)
    identify = Usability(run.plan, run.transcript.bodies.file).identify
    evolved = evolve(run.plan, run.gate, judge, Silent(), identify)
    run.gate.finish(None)
    record = RunReader.strict(root)
    publish(root / "release", DatasetRelease.of(record, evolved.dataset), record.bodies.file)
    write_summary(record)
    return root


def test_a_run_that_ends_though_it_has_enough_to_choose_from_is_refused_and_found_by_an_auditor(
    tmp_path: Path,
):
    run = SmallRun.open(tmp_path, small_plan(), FakeProvider())
    judge = RecordingJudge(run.judge, run.gate, lambda pool: None)
    evolve(run.plan, run.gate, judge, Silent(), str, lambda pool: False)
    with pytest.raises(EgressError, match="the plan is not complete"):
        run.gate.finish()
    run.gate._lineage.is_enough = lambda pool: False
    run.gate.finish()
    found = [fault for each in audit(tmp_path) for fault in each.faults]
    assert any("'finished' stands where the receipt for iteration 2 is due" in each for each in found), found


def unusable(root: Path) -> list[str]:
    claim = "no release was made from fewer usable candidates than the plan requires"
    return [fault for each in audit(root) for fault in each.faults if each.claim == claim]


def test_an_auditor_finds_a_release_that_chose_among_nothing(tmp_path: Path):
    root = finish_regardless(tmp_path / "black", meddling(lambda seed: flat(0)))
    faults = unusable(root)
    places = [fault.partition(":")[0] for fault in faults]
    assert places == ["receipt for iteration 1", "receipt for iteration 2"]
    assert "0 of 3 images can be used (3 are all of one colour), 2 different ones are needed" in faults[0]
    assert unusable(finish_regardless(tmp_path / "honest", FakeProvider())) == []


@pytest.mark.parametrize(("share", "found"), [(0.25, False), (0.9, True)])
def test_an_auditor_counts_by_the_share_that_the_plan_names(tmp_path: Path, share: float, found: bool):
    half = meddling(lambda seed: flat(0) if seed % 2 else png(seed))
    assert bool(unusable(finish_regardless(tmp_path, half, candidates=8, min_usable=share))) is found


def test_what_cannot_be_used_is_not_released(tmp_path: Path):
    some = meddling(lambda seed: png(seed) if seed % 4 else flat(0))
    root = finish_regardless(tmp_path, some, candidates=8, batch=8)
    manifest = RunReader.strict(root).manifest()
    assert manifest.unreadable
    assert len(manifest.files) + len(manifest.unreadable) == 16
    assert [fault for each in audit(root) for fault in each.faults if "report" not in fault] == []


def test_what_is_paid_for_is_kept_as_long_as_one_class_has_something():
    black, stored = population_of(*[flat(0)] * 4)
    good, more = population_of(*map(png, range(4)), label="good")
    usability = Usability(small_plan(), (stored | more).__getitem__)
    half, none = Pool({"cut": black, "good": good}), Pool({"cut": black})
    assert "of class 'cut' 0 of 4" in usability.fault(half)
    assert usability.fault(half, is_dataset=True) == ""
    assert list(usability.notes(half)) == [
        "of class 'cut' 0 of 4 images can be used (4 are all of one colour); what cannot be used is left out"
    ]
    assert usability.fault(none, is_dataset=True) == usability.fault(none) != ""


def test_an_auditor_finds_a_release_that_chose_among_what_had_been_there_before(tmp_path: Path):
    (first, *_) = unusable(finish_regardless(tmp_path, echoing()))
    assert first.startswith("receipt for iteration 2")
    assert "3 of 3 images can be used (3 came back unchanged)" in first
