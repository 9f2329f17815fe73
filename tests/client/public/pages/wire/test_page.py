"""The wire page: what left, in order, with its reason; nothing on it is markup or fetched; what is wrong stands out."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from PIL import Image, PngImagePlugin

from pcevolve.auditing import audit
from pcevolve.public.finding import Finding
from pcevolve.public.pages.wire.page import Gallery, render_viewer
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve_shared import images
from support.forge import Event, forge
from support.provider import FakeProvider, linking, png
from support.viewer import HOSTILE, Page, events, html, steps

Make = Callable[..., Path]


def test_every_attempt_on_record_is_on_the_page_in_order_with_its_bytes(finished: Make):
    root = finished()
    sent = [event for event in events(root) if event["kind"] == "sent"]
    shown = steps(root)
    assert [name for name in shown if name.startswith("r")] == [f"r{each + 1}" for each in range(len(sent))]
    for number, event in enumerate(sent, start=1):
        text = shown[f"r{number}"].text
        assert f"Out {event['wire_bytes']:,} bytes, {event['body']['size']:,} of them body" in text
        assert f"slot {event['slot']} " in text
        assert f"{event['method']} {event['url']}" in text
        assert all(f"{name} {value}" in text for name, value in event["headers"])


def test_each_prototype_has_its_picture_its_receipt_and_where_it_was_made(finished: Make):
    root = finished()
    shown = steps(root)
    carrying = [page for name, page in shown.items() if page.of_class("proto")]
    receipts = [event["receipt"] for event in events(root) if event["kind"] == "released"]
    assert len(carrying) == 8
    for page in carrying:
        iteration = int(page.elements[0][1]["data-round"] or 0)
        label = page.elements[0][1]["data-class"]
        receipt = receipts[iteration - 1]
        chosen = next(each["chosen"] for each in receipt["choices"] if each["label"] == label)[0]
        assert f"{chosen['id']}, " in page.text
        assert f"sha256 {chosen['digest'][:12]}…" in page.text
        assert "exponential, bounded range η = 2.5; replace-one; ε " in page.text
        assert re.search(r"and ε [\d.]+ of 10 in total with all earlier receipts", page.text)
        links = [each["href"][1:] for tag, each in page.elements if tag == "a" and each["href"]]
        origin, paid = links[1], links[2]
        assert chosen["id"] in [each.get("title", "").split(",")[0] for each in shown[origin].of_class("pic")]
        assert shown[paid].text.startswith("Receipt ")
        assert page.of_class("large")[0]["aria-label"] == f"image that was sent back: {chosen['id']}"


def test_strings_from_anywhere_are_text_not_markup(finished: Make):
    label = "&lt;img src=x onerror=alert(1)&gt;'"  # a label cannot have angle brackets
    honest = FakeProvider()

    def meddle(request: Outgoing) -> Incoming | None:
        answer = honest.answer(request)
        return Incoming(answer.status, (*answer.headers, (f"x-{HOSTILE}", HOSTILE)), answer.body)

    root = finished(
        FakeProvider(meddle),
        labels=(label, "&amp;good"),
        domain=HOSTILE,
        negative_prompt="</style></script>" + HOSTILE,
        model="{{ 7*7 }}" + HOSTILE,
        unit=HOSTILE,
    )
    content = render_viewer(
        RunReader.lenient(root), [Finding(HOSTILE, (HOSTILE, "(line " + "9" * 5000 + ")"), 1)]
    ).decode()
    page = Page(content)
    assert [each for tag, each in page.elements if tag in {"script", "img", "b"}] == [{}]  # our own script
    assert not [name for _, each in page.elements for name in each if name.startswith("on")]
    assert f"BROKEN {HOSTILE}" in page.text
    assert f"{{{{ 7*7 }}}}{HOSTILE}" in page.text
    assert f"x-{HOSTILE} {HOSTILE}" in page.text
    assert label in page.text
    assert not [each for _, each in page.elements if "style" in each or "srcset" in each]
    assert all(each["href"].startswith("#") for _, each in page.elements if each.get("href"))


def test_the_policy_allows_our_own_styles_and_script_by_hash_and_nothing_else(finished: Make):
    content = html(finished())
    policy = next(each["content"] for tag, each in Page(content).elements if each.get("http-equiv"))
    digest = "'sha256-[A-Za-z0-9+/=]{44}'"
    assert re.fullmatch(
        rf"default-src 'none'; img-src data:; style-src {digest} {digest}; script-src {digest}; "
        "base-uri 'none'; form-action 'none'",
        policy or "",
    )
    assert "http:" not in re.sub(r"http://127\.0\.0\.1:9\b", "", content)
    assert "https:" not in content


def test_what_left_finds_room_before_what_came_and_what_is_left_out_is_counted(finished: Make):
    root = finished()
    content = render_viewer(RunReader.lenient(root), audit(root), most_picture_bytes=2500).decode()
    page = Page(content)
    assert {each["class"] for each in page.of_class("large")} == {f"pic large p{place}" for place in range(4)}
    assert "of them are left out to keep the page small" in page.text
    assert len(re.findall(r"url\(", content)) == 4


def test_only_public_records_are_read(finished: Make):
    root = finished()
    findings = audit(root)
    shutil.rmtree(root / "release")
    (root / "private").write_text("a file where the folder was: reading it would fail")
    assert "HOLDS" in render_viewer(RunReader.lenient(root), findings).decode()


def test_what_follows_a_link_is_told_apart_and_its_images_have_an_origin(finished: Make):
    root = finished(FakeProvider(linking), dialect="siliconflow", image_hosts=("127.0.0.1:8",))
    content = html(root)
    text = Page(content).text
    assert "HOLDS" in text
    assert "Hosts contacted 2 127.0.0.1:9, 127.0.0.1:8" in text
    assert "images behind the API's links" in text
    assert "NOT IN THE PLAN" not in text
    assert "No reason on record" not in text
    proto = next(page for page in steps(root).values() if page.of_class("proto"))
    assert "i000-c000-000002, " in proto.text


def test_pictures_are_encoded_anew_and_bounded(tmp_path: Path):
    bodies = Bodies(tmp_path)
    hidden = b"tEXtsecret of the provider"
    info = PngImagePlugin.PngInfo()
    info.add_text("note", hidden.decode())
    Image.new("RGB", (2000, 1500), "red").save(tmp_path / "large.png", pnginfo=info)
    data = (tmp_path / "large.png").read_bytes()
    gallery = Gallery(bodies.file)
    digest = bodies.keep(data)
    gallery.hang(digest)
    assert gallery[digest].state == "shown"
    encoded = images.from_base64(gallery.style.split("base64,")[1].split(")")[0])
    assert images.decode(encoded).size == (96, 72)
    assert b"secret" in data
    assert b"secret" not in encoded


def test_pictures_take_so_much_room_and_what_is_none_becomes_a_placeholder(tmp_path: Path):
    bodies = Bodies(tmp_path)
    gallery = Gallery(bodies.file, most_bytes=5000)
    junk = bodies.keep(b"\x89PNG\r\n\x1a\n" * 9)
    digests = [junk, "0" * 64, *(bodies.keep(png(seed)) for seed in range(20))]
    for digest in digests:
        gallery.hang(digest)
    assert (gallery[junk].state, gallery["0" * 64].state) == ("not an image", "missing or changed")
    assert 0 < len(gallery) < 20
    assert len(gallery.style) < 5000 + 2000
    assert gallery[digests[-1]].state == "not embedded"


def test_a_connection_that_failed_is_told_with_its_reason(finished: Make):
    root = finished()

    def change(all_of: list[Event]) -> list[Event]:
        place = max(index for index, event in enumerate(all_of) if event["kind"] == "answered")
        failed = {"kind": "failed", "slot": all_of[place]["slot"], "reason": "the connection broke"}
        return [*all_of[:place], failed]

    forge(root, change)
    page = list(steps(root).values())[-1]
    assert "nothing usable: the connection broke" in page.text
    assert page.of_class("bad")


def test_an_image_that_nobody_sent_stands_out_with_the_fault_at_its_request(finished_otherwise: Make):
    root = finished_otherwise(image=images.to_base64(png(12345)))
    shown = steps(root)
    page = shown[max((name for name in shown if name.startswith("r")), key=lambda name: int(name[1:]))]
    assert "No reason on record for sending this image" in page.text
    assert "No recorded answer contained it, so it did not come from the provider." in page.text
    assert "Fault: request i002/c001/n000002" in page.text
    assert page.of_class("unexplained")
    top = Page(html(root)).text
    assert "BROKEN request i002/c001/n000002" in top
    assert "Without a reason on record 1" in top


def test_a_broken_chain_is_the_verdict_and_the_rest_is_shown_as_unproven(finished: Make):
    root = finished()
    log = root / "transcript" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    lines[7] = lines[7].replace(b'"seq":7', b'"seq": 7')
    log.write_bytes(b"".join(lines))
    content = html(root)
    text = Page(content).text
    assert "BROKEN transcript line 8 was edited" in text
    assert "lines and ends with the hash" not in text
    assert f"7 lines form an intact chain from the start. {len(lines) - 7} more can be read" in text
    shown = steps(root)
    assert sum(name.startswith("r") for name in shown) == 13
    assert "after the break in the chain: unverified" not in shown["r1"].text
    assert "after the break in the chain: unverified" in shown["r13"].text


def test_a_third_party_is_told_how_to_check_it_and_in_what_the_record_ends(finished: Make):
    root = finished()
    text, run = Page(html(root)).text, RunReader.strict(root)
    assert "pcevolve audit FOLDER --html" in text
    assert f"The record has {len(run.entries)} lines and ends with the hash {run.head}" in text


def test_without_findings_nothing_holds(finished: Make):
    root = finished()
    text = Page(render_viewer(RunReader.lenient(root), []).decode()).text
    assert "BROKEN nothing was checked" in text


def test_an_image_that_leaves_towards_a_link_has_no_reason(finished: Make):
    root = finished(FakeProvider(linking), dialect="siliconflow", image_hosts=("127.0.0.1:8",))

    def smuggle(all_of: list[Event]) -> None:
        sent = {event["slot"]: event for event in all_of if event["kind"] == "sent"}
        carrying = next(slot for slot, event in sent.items() if "{{" in event["body"]["text"])
        sent[f"{carrying}/link0"]["body"] = sent[carrying]["body"]

    forge(root, smuggle)
    assert "No reason on record for sending this image" in Page(html(root)).text
