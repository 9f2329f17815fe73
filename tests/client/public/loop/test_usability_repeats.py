"""What shows the same is one candidate, however often it came and however it was encoded; and the owner is told."""

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
from pcevolve.public.loop.evolution import evolve
from pcevolve.public.loop.lineage import make_pool
from pcevolve.public.loop.usability import Usability
from pcevolve.public.media import find_medium
from pcevolve.wire.asking import RecordingJudge
from pcevolve_shared import images
from support.online import Heard, LocalServer, Reply, answer_json
from support.pools import flat, population_of, save
from support.provider import answer_chat, meddling, png
from support.runs import Silent, SmallRun, small_plan


def with_comment(pixels: bytes, number: int) -> bytes:
    """The same picture in other bytes."""
    buffer, note = io.BytesIO(), PngInfo()
    note.add_text("Comment", str(number))
    images.decode(pixels).save(buffer, "PNG", pnginfo=note)
    return buffer.getvalue()


def answer_by(native: LocalServer, make: Callable[[int, int], bytes | None]) -> None:
    """Answer with images that are made of how many there were before, and of their seeds; None leaves one as it is."""
    honest, turn = native.speak, count()

    def speak(heard: Heard) -> Reply:
        reply = honest(heard)
        if heard.method != "POST":
            return reply
        answer = json.loads(reply.body)
        for made in answer.get("images", [answer]):
            if (image := make(next(turn), made["seed"])) is not None:
                made["image"] = images.to_base64(image)
        return reply._replace(body=json.dumps(answer).encode())

    native.speak = speak


def repeat_half(_turn: int, seed: int) -> bytes | None:
    """One picture for half of all seeds, each time in other bytes, and with HTTP 200 as a limit does."""
    return with_comment(png(123), seed) if seed % 100 < 50 else None


@pytest.mark.parametrize(
    "options",
    [
        *({"method": each} for each in ("random", "t2i", "pcevolve", "aug-pe")),
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
    answer_by(native, repeat_half)
    done = evolved(candidates=12, batch=1, quiet=False, **options)
    pixels = [images.decode(each.data).tobytes() for each in done.images]
    assert len(pixels) == len({*pixels})
    assert len(pixels) > 4
    card = (done.dataset / "README.md").read_text()
    planned = 48 if "more" in options else 24
    fewer = f" ({planned} were planned; duplicates and unusable answers are left out)"
    different = f"{len(pixels)} synthetic images in 2 classes, all of them distinct"
    assert f"{different}{fewer if len(pixels) < planned else ''}, made by" in card
    told = " ".join(capsys.readouterr().err.split())
    warned = r"WARNING: \d+ of 8 of class 'type A', \d+ of 8 of class 'type B' repeat another image exactly"
    assert re.search(warned, told), told
    assert "repeat another image exactly" in (done.folder / "preview.html").read_text()
    audited = done.verify()
    assert audited, audited.faults


@pytest.mark.parametrize(
    "make",
    [lambda turn, seed: png(seed % 4), lambda turn, seed: png(seed) if turn < 24 else png(5)],
    ids=["four pictures", "one after the payment"],
)
@pytest.mark.parametrize("method", ["dp-means", "pe"])
def test_what_is_paid_for_ends_in_a_release_whatever_the_provider_repeats(evolved, native, make, method):
    answer_by(native, make)
    done = evolved(candidates=8, batch=1, iterations=3, method=method, min_usable=0.1)
    pixels = [images.decode(each.data).tobytes() for each in done.images]
    assert len(pixels) == len({*pixels})
    assert 1 < len(pixels) <= 16
    assert ("(16 were planned" in (done.dataset / "README.md").read_text()) is (len(pixels) < 16)
    audited = done.verify()
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


@pytest.mark.parametrize("options", [{"method": "aug-pe"}, {"method": "secpe"}], ids=str)
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
    audited = done.verify()
    assert audited, audited.faults
