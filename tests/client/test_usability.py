"""Nothing is paid for where the provider sent too little to choose from; the rule is public and the plan's."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import pcevolve
from pcevolve.auditing import audit
from pcevolve.egress.gate import RecordingJudge
from pcevolve.egress.transport import Incoming, Outgoing
from pcevolve.errors import EgressError, UnusableError
from pcevolve.evolution import Pool, evolve, make_pool
from pcevolve.modality import find_medium
from pcevolve.publish.dataset import publish, write_summary
from pcevolve.publish.release import Release
from pcevolve.selectors import METHODS
from pcevolve.session.first.demo import OF_CONTROL
from pcevolve.transcript import RunReader
from pcevolve.usability import ClassUsability, Usability
from pcevolve_shared import images
from support.online import Heard, LocalServer, Reply, answer_json
from support.pools import look_at, pool_of, population_of, save
from support.provider import FakeProvider, answer_chat, ok, png
from support.runs import Silent, SmallRun, small_plan

Make = Callable[[int], bytes]


def flat(level: int, spread: int = 0) -> bytes:
    pixels = np.full((16, 16, 3), level)
    pixels[0, 0] += spread
    return save(pixels)


@pytest.mark.parametrize(
    ("sent", "share", "needed"),
    [
        *((sent, 0.25, n) for sent, n in ((1, 1), (2, 2), (7, 2), (8, 2), (9, 3), (400, 100))),
        (10, 1, 10),
        (10, 0.01, 2),
        (100, 0.55, 55),
    ],
)
def test_a_share_of_a_class_is_needed_and_two_at_least(sent: int, share: float, needed: int):
    assert look_at(*map(png, range(sent)), share=share).needed == needed


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


def answering(make: Callable[[dict, int], bytes | None], since: int = 0) -> FakeProvider:
    """A provider whose images are these by a request's fields and each one's place; honest before, and for None."""
    asked = []

    def answer(request: Outgoing) -> Incoming | None:
        if request.method == "GET":
            return None
        asked.append(request)
        fields = json.loads(request.body)
        made = [make(fields, place) for place in range(fields.get("n", 1))]
        if len(asked) <= since or None in made:
            return None
        sent = [{"image": images.to_base64(each), "seed": 0} for each in made if each]
        return ok({"images": sent, "cost": 0.0} if len(sent) > 1 else {**sent[0], "cost": 0.0})

    return FakeProvider(answer)


def meddling(make: Make, since: int = 0) -> FakeProvider:
    """A provider whose images are made of their seeds, from some request for images on."""
    return answering(lambda fields, place: make(fields["seed"] + place), since)


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
        "what the last release chose, and variations of it; 1 of 2 rounds were made"
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
    publish(root / "release", Release.of(record, evolved.dataset), record.bodies.file)
    write_summary(record)
    return root


def test_a_run_that_ends_though_it_has_enough_to_choose_from_is_refused_and_found_by_an_auditor(
    tmp_path: Path,
):
    run = SmallRun.open(tmp_path, small_plan(), FakeProvider())
    judge = RecordingJudge(run.judge, run.gate, lambda pool: None)
    evolve(run.plan, run.gate, judge, Silent(), str, lambda pool: False)
    with pytest.raises(EgressError, match="not all of the plan was carried out"):
        run.gate.finish()
    run.gate._lineage.is_enough = lambda pool: False
    run.gate.finish()
    found = [fault for each in audit(tmp_path) for fault in each.faults]
    assert any("'finished' stands where the receipt for iteration 2 is due" in each for each in found), found


def unusable(root: Path) -> list[str]:
    claim = "no release chose where too few candidates could be used, as the plan counts them"
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


def with_comment(pixels: bytes, number: int) -> bytes:
    """The same picture in other bytes."""
    buffer, note = io.BytesIO(), PngInfo()
    note.add_text("Comment", str(number))
    images.decode(pixels).save(buffer, "PNG", pnginfo=note)
    return buffer.getvalue()


def repeating(share: float, native: LocalServer) -> None:
    """Answer a share of all seeds with one picture, each time in other bytes, and with HTTP 200 as a limit does."""
    honest = native.speak

    def speak(heard: Heard) -> Reply:
        reply = honest(heard)
        if heard.method != "POST":
            return reply
        said = json.loads(reply.body)
        for made in said.get("images", [said]):
            if made["seed"] % 100 < 100 * share:
                made["image"] = images.to_base64(with_comment(png(123), made["seed"]))
        return reply._replace(body=json.dumps(said).encode())

    native.speak = speak


EVERY = ["auto", *(name for name, each in METHODS.items() if "secret_prior" not in each.own_options)]


@pytest.mark.parametrize(
    "options",
    [
        *({"method": each} for each in EVERY),
        {"method": "pe", "lookahead": 2},
        {"method": "pe", "pool": "all", "iterations": 2},
        {"method": "pcevolve", "more": 1},
        {"method": "dp-means", "appearance": "matched"},
    ],
    ids=str,
)
def test_a_placeholder_in_half_of_the_answers_is_one_candidate_and_told_of_before_anything_is_paid(
    evolved, native, capsys, options
):
    repeating(0.5, native)
    done = evolved(candidates=20, batch=1, quiet=False, **options)
    pixels = [images.decode(each.data).tobytes() for each in done.images]
    assert len(pixels) == len({*pixels})
    assert len(pixels) > 4
    card = (done.dataset / "README.md").read_text()
    planned = 80 if "more" in options else 40
    fewer = f" ({planned} were planned: what repeats another one or cannot be used is left out)"
    different = f"{len(pixels)} synthetic images in 2 classes, {len(pixels)} of them different"
    assert f"{different}{fewer if len(pixels) < planned else ''}, made by" in card
    told = " ".join(capsys.readouterr().err.split())
    warned = r"WARNING: \d+ of 8 of class 'type A', \d+ of 8 of class 'type B' repeat another image exactly"
    assert re.search(warned, told), told
    assert "repeat another image exactly" in (done.folder / "preview.html").read_text()
    audited = done.audit()
    assert audited, audited.faults


def answer_by(native: LocalServer, make: Callable[[int, int], bytes]) -> None:
    """Answer with images that are made of how many there were before, and of their seeds."""
    honest, turn = native.speak, count()

    def speak(heard: Heard) -> Reply:
        reply = honest(heard)
        if heard.method != "POST":
            return reply
        said = json.loads(reply.body)
        for made in said.get("images", [said]):
            made["image"] = images.to_base64(make(next(turn), made["seed"]))
        return reply._replace(body=json.dumps(said).encode())

    native.speak = speak


@pytest.mark.parametrize(
    "make",
    [lambda turn, seed: png(seed % 4), lambda turn, seed: png(seed) if turn < 24 else png(5)],
    ids=["four pictures", "one after the payment"],
)
@pytest.mark.parametrize("method", ["dp-means", "pcevolve", "pe", "random"])
def test_what_is_paid_for_ends_in_a_release_whatever_the_provider_repeats(evolved, native, make, method):
    answer_by(native, make)
    done = evolved(candidates=8, batch=1, iterations=3, method=method, min_usable=0.1)
    pixels = [images.decode(each.data).tobytes() for each in done.images]
    assert len(pixels) == len({*pixels})
    assert 1 < len(pixels) <= 16
    assert ("(16 were planned" in (done.dataset / "README.md").read_text()) is (len(pixels) < 16)
    audited = done.audit()
    assert audited, audited.faults


def test_an_auditor_finds_a_release_of_a_client_that_counts_repeats_as_many(tmp_path: Path):
    half = meddling(lambda seed: with_comment(png(1), seed) if seed % 2 else png(seed))
    plan = small_plan(candidates=8, initial=8, prototypes=8)
    run = SmallRun.open(tmp_path, plan, half)
    evolve(
        plan, run.gate, RecordingJudge(run.judge, run.gate, lambda pool: None), Silent(), lambda digest: ""
    )
    run.gate.finish(None)
    found = [fault for each in audit(tmp_path) for fault in each.faults]
    where = "receipt for iteration 1: names an image that is not among those it chose from, for 'cut'"
    assert where in found


def encode(picture: bytes, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    images.decode(picture).save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("kind", "one", "other", "same"),
    [
        ("image", png(1), with_comment(png(1), 7), True),
        ("image", png(1), encode(png(1), "WEBP", lossless=True), True),
        ("image", png(1), encode(png(1), "PNG", compress_level=0), True),
        ("image", png(1), encode(png(1), "JPEG", quality=95), False),
        ("image", png(1), png(2), False),
        ("text", b"a small bird", "  a small\n\nbird\u200b ".encode(), True),
        ("text", "caf\u00e9 bleu".encode(), "cafe\u0301 bleu".encode(), True),
        ("text", b"a small bird", b"A small bird", False),
        ("text", b"a small bird", b"a small bird.", False),
    ],
)
def test_equal_are_the_same_pixels_or_words_however_they_were_encoded(kind, one, other, same):
    check = find_medium(kind).check
    assert (check(one).shows == check(other).shows) is same
    assert check(one).shows


@pytest.mark.parametrize(
    ("kind", "sent"), [("image", flat(3)), ("image", b"no"), ("text", b"I cannot help with that")]
)
def test_what_cannot_be_used_is_counted_as_that_and_never_as_a_repeat(kind, sent):
    assert find_medium(kind).check(sent).shows == ""


def warn(repeats: int, sent: int) -> str:
    made, stored = population_of(
        *(with_comment(png(0), place) for place in range(repeats + 1)), *map(png, range(1, sent - repeats))
    )
    usability = Usability(small_plan(labels=("cut",)), stored.__getitem__)
    return usability.describe_repeats(make_pool([{"cut": made}], usability.identify))


def test_a_tenth_of_repeats_is_told_and_less_is_not():
    assert warn(repeats=1, sent=11) == warn(repeats=0, sent=4) == ""
    assert warn(repeats=1, sent=10).startswith("1 of 10 of class 'cut' repeat another image exactly")
    assert warn(repeats=5, sent=10).startswith("5 of 10 of class 'cut' repeat")


def stamped(number: int) -> bytes:
    """A placeholder with a line that differs each time."""
    pixels = np.asarray(images.decode(png(0)).resize((64, 64), Image.Resampling.NEAREST)).copy()
    pixels[60:, : 4 + number] = 255
    return save(pixels)


def test_placeholders_that_differ_in_a_detail_are_told_of_and_not_merged():
    made, stored = population_of(*map(stamped, range(4)), *map(png, range(1, 5)))
    usability = Usability(small_plan(labels=("cut",)), stored.__getitem__)
    pool = make_pool([{"cut": made}], usability.identify)
    assert pool.candidates == {"cut": made}
    assert usability.describe_repeats(pool) == (
        "3 of 8 of class 'cut' look like another image but for details, and each of them counts"
    )
    varied = {each.id: made[7].digest for each in made[:4]}
    assert usability.describe_repeats(make_pool([{"cut": made}], usability.identify, sources=varied)) == ""


@pytest.mark.parametrize("options", [{"method": "pe"}, {"method": "aug-pe"}, {"method": "secpe"}], ids=str)
def test_a_text_that_a_limit_sends_in_half_of_the_answers_is_one_candidate(tmp_path: Path, options):
    turn = count()

    def speak(heard: Heard) -> Reply:
        if heard.method == "GET":
            return answer_json(200, {"data": [{"id": "bundled"}]})
        said = answer_chat(json.loads(heard.body))
        for choice in said["choices"]:
            if (number := next(turn)) % 2:
                choice["message"]["content"] = f"Please  wait\n a moment{' ' * (number % 3)}"
        return answer_json(200, said)

    server, table = LocalServer(speak), tmp_path / "texts.csv"
    rows = [f"{word} in the {place},{word}" for word in ("bird", "boat") for place in ("x", "y", "z", "w")]
    table.write_text("\n".join(["text,label", *rows, ""]))
    (tmp_path / "secrets.txt").write_text("bird\n")
    own = {"secrets": str(tmp_path / "secrets.txt")} if options["method"] == "secpe" else {}
    done = pcevolve.evolve(
        private=table, domain="notes", provider=pcevolve.Provider(f"{server.address}/v1", "chat", key="k" * 9),
        out=tmp_path / "run", ledger=tmp_path / "ledger" / "ledger.sqlite", shots=4, candidates=6, batch=2,
        iterations=2, pad_selection=0.01, delta=1e-5, yes=True, quiet=True, **options, **own,
    )  # fmt: skip
    server.close()
    texts = [each.data for each in done.images]
    assert len(texts) == len({*texts}) > 6
    audited = done.audit()
    assert audited, audited.faults
