"""The wire viewer shows everything that left, why it could, and what is wrong, whatever a provider or a forger says."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from pcevolve_client.audit import Finding, audit
from pcevolve_client.audit.viewer import write_viewer
from pcevolve_client.audit.viewer.fields import MOST_CHARACTERS, fields
from pcevolve_client.audit.viewer.gallery import Gallery
from pcevolve_client.audit.viewer.page import render
from pcevolve_client.audit.viewer.reading import Reading
from pcevolve_client.egress.bodies import Bodies
from pcevolve_client.egress.transport import Incoming, Outgoing
from pcevolve_shared import images
from support.forge import Event, forge, rewritten_body
from support.paid import paid_run
from support.provider import FakeProvider, ok, png
from support.runs import SmallRun, small_plan

HOSTILE = '<script>alert("1")</script>'
OVERRIDE = "\N{RIGHT-TO-LEFT OVERRIDE}"


class Page(HTMLParser):
    """Text without markup, and every element with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._raw = False
        self.feed(html)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._raw = tag in {"style", "script"}
        self.text += " " * (tag in {"p", "div", "td", "th", "li", "h3", "dt", "dd", "article"})

    def handle_endtag(self, tag):
        self._raw = False

    def handle_data(self, data):
        self.text += "" if self._raw else data

    def of_class(self, name: str) -> list[dict[str, str | None]]:
        return [each for _, each in self.elements if name in (each.get("class") or "").split()]


def html(root: Path) -> str:
    return write_viewer(root, audit(root), root.parent / "viewer.html").read_text(encoding="utf-8")


def steps(root: Path) -> dict[str, Page]:
    """The page's steps by their anchors."""
    parts = re.split(r'(?=<article class="step)', html(root))[1:]
    return {match[1]: Page(part) for part in parts if (match := re.search(r' id="([rl]\d+)"', part))}


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Path]:
    """Make a finished ``pcevolve`` run; keywords change its plan."""

    def make(provider: FakeProvider | None = None, **changes: object) -> Path:
        return paid_run(tmp_path / "run", small_plan(**{"method": "pcevolve", **changes}), provider)

    return make


def events(root: Path) -> list[Event]:
    lines = (root / "transcript" / "log.jsonl").read_bytes().splitlines()
    return [json.loads(line)["event"] for line in lines]


def forged_body(root: Path, change: Callable[[dict], dict]) -> None:
    """Change the last request's fields in an otherwise whole record."""

    def edit(all_of: list[Event]) -> list[Event]:
        place = max(index for index, event in enumerate(all_of) if event["kind"] == "sent")
        all_of[place] = rewritten_body(
            root, all_of[place], lambda body: json.dumps(change(json.loads(body))).encode()
        )
        return all_of

    forge(root, edit)


def test_every_attempt_on_record_is_on_the_page_in_order_with_its_bytes(run):
    root = run()
    sent = [event for event in events(root) if event["kind"] == "sent"]
    shown = steps(root)
    assert [name for name in shown if name.startswith("r")] == [f"r{each + 1}" for each in range(len(sent))]
    for number, event in enumerate(sent, start=1):
        text = shown[f"r{number}"].text
        assert f"Out {event['wire_bytes']:,} bytes, {event['body']['size']:,} of them body" in text
        assert f"slot {event['slot']} " in text
        assert f"{event['method']} {event['url']}" in text
        assert all(f"{name} {value}" in text for name, value in event["headers"])


def test_the_top_says_that_it_holds_and_counts(run):
    root = run()
    text = Page(html(root)).text
    answered = sum(event["wire_bytes"] for event in events(root) if event["kind"] == "answered")
    sent = sum(event["wire_bytes"] for event in events(root) if event["kind"] == "sent")
    assert "HOLDS All 6 checks hold: nothing is on record that left without a reason." in text
    assert "BROKEN" not in text
    assert f"total 13 13 0 {sent:,} {answered:,} 8 4" in text
    assert "Hosts contacted 1 127.0.0.1:9 " in text
    assert "Images sent back 8, 4 of them different" in text
    assert "Privacy loss ε 10 of 10" in text


def test_each_prototype_has_its_picture_its_receipt_and_where_it_was_made(run):
    root = run()
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
        assert "of the run's ε 10" in page.text
        links = [each["href"][1:] for tag, each in page.elements if tag == "a" and each["href"]]
        origin, paid = links[1], links[2]
        assert chosen["id"] in [each.get("title", "").split(",")[0] for each in shown[origin].of_class("pic")]
        assert shown[paid].text.startswith("Receipt ")
        assert page.of_class("large")[0]["aria-label"] == f"image that was sent back: {chosen['id']}"


def test_an_image_that_the_plan_sends_back_needs_no_receipt(run):
    page = next(
        page for page in steps(run(method="random", lookahead=1)).values() if "lookahead" in page.text
    )
    assert (
        "Named by the public plan itself, whatever the private data are: no receipt is needed." in page.text
    )
    assert page.of_class("unexplained") == []


def test_every_field_of_a_body_is_spelled_as_it_left(run):
    root = run()
    page = next(page for page in steps(root).values() if page.of_class("proto"))
    text = page.text
    for field in (
        "model bundled",
        "prompt A leather texture image with cut",
        "strength 0.8",
        "guidance 7.5",
        "n 2",
    ):
        assert field in text
    assert "negative_prompt empty" in text
    assert re.search(r"seed \d+", text)
    assert re.search(r"image [\d,]+ bytes, sha256 [0-9a-f]{12}…", text)


def test_a_picture_is_in_the_page_once_however_often_it_is_shown(run):
    content = html(run())
    distinct = re.findall(r"url\(([^)]+)\)", content)
    assert len(distinct) == len(set(distinct)) == 2 * 3 * 3
    assert len(Page(content).of_class("pic")) > 2 * 3 * 3
    assert "<img" not in content


def test_retries_are_told_apart_and_said_to_be_the_same_bytes(run):
    asked: list[Outgoing] = []

    def meddle(request: Outgoing) -> Incoming | None:
        asked.append(request)
        return Incoming(503, (("Retry-After", "0"),), b'{"error": "busy"}') if len(asked) == 2 else None

    shown = steps(run(FakeProvider(meddle)))
    assert "status 503" in shown["r2"].text
    assert '{"error": "busy"}' in shown["r2"].text
    assert "attempt 2" in shown["r3"].text
    assert "The same bytes and headers as #2, sent again." in shown["r3"].text
    assert "data-trouble" in shown["r3"].elements[0][1]


def test_a_connection_that_failed_is_told_with_its_reason(run):
    root = run()

    def change(all_of: list[Event]) -> list[Event]:
        place = max(index for index, event in enumerate(all_of) if event["kind"] == "answered")
        failed = {"kind": "failed", "slot": all_of[place]["slot"], "reason": f"reset {HOSTILE}"}
        return [*all_of[:place], failed]

    forge(root, change)
    page = list(steps(root).values())[-1]
    assert f"nothing usable: reset {HOSTILE}" in page.text
    assert page.of_class("bad")


def test_an_image_that_nobody_sent_stands_out_with_the_fault_at_its_request(run):
    root = run()
    forged_body(root, lambda fields: fields | {"image": images.to_base64(png(12345))})
    shown = steps(root)
    page = shown[max((name for name in shown if name.startswith("r")), key=lambda name: int(name[1:]))]
    assert "No reason on record for this image to leave" in page.text
    assert "No answer on record had brought it: it is not the provider's." in page.text
    assert "Fault: request i002/c001/n000002" in page.text
    assert page.of_class("unexplained")
    top = Page(html(root)).text
    assert "BROKEN request i002/c001/n000002" in top
    assert "Without a reason on record 1" in top


def test_an_image_of_the_providers_without_a_receipt_is_told_apart_from_a_stranger(run):
    root = run()
    first = next(event for event in events(root) if event["kind"] == "received")["outputs"][0]
    data = Bodies(root / "transcript" / "bodies").file(first)
    forged_body(root, lambda fields: fields | {"image": images.to_base64(data)})
    text = Page(html(root)).text
    assert "No reason on record for this image to leave" in text
    assert "The provider had sent these bytes in answer to #2." in text


def test_more_in_a_body_than_the_plan_gives_is_shown(run):
    root = run()
    forged_body(root, lambda fields: fields | {"user": {"ward": ["3", HOSTILE]}})
    text = Page(html(root)).text
    assert f"user.ward[0] 3 user.ward[1] {HOSTILE}" in text


def test_strings_from_anywhere_are_text_not_markup(run):
    label = "<img src=x onerror=alert(1)>\"'"
    honest = FakeProvider()

    def meddle(request: Outgoing) -> Incoming | None:
        answer = honest.answer(request)
        return Incoming(answer.status, (*answer.headers, (f"x-{HOSTILE}", HOSTILE)), answer.body)

    root = run(
        FakeProvider(meddle),
        labels=(label, "<b>good"),
        domain=HOSTILE,
        negative_prompt="</style></script>" + HOSTILE,
        model="{{ 7*7 }}" + HOSTILE,
        unit=HOSTILE,
    )
    content = write_viewer(root, [Finding(HOSTILE, (HOSTILE,), 1)], root.parent / "x.html").read_text()
    page = Page(content)
    assert [each for tag, each in page.elements if tag in {"script", "img", "b"}] == [{}]  # our own script
    assert not [name for _, each in page.elements for name in each if name.startswith("on")]
    assert f"BROKEN {HOSTILE}" in page.text
    assert f"{{{{ 7*7 }}}}{HOSTILE}" in page.text
    assert f"x-{HOSTILE} {HOSTILE}" in page.text
    assert label in page.text
    assert not [each for _, each in page.elements if "style" in each or "srcset" in each]
    assert all(each["href"].startswith("#") for _, each in page.elements if each.get("href"))


def test_what_cannot_be_seen_is_spelled_out(run):
    root = run(negative_prompt=f"a{OVERRIDE}b\N{ZERO WIDTH SPACE}c\N{NO-BREAK SPACE}d")
    content = html(root)
    assert r"a\u202eb\u200bc\xa0d" in content
    assert OVERRIDE not in content


def test_the_policy_allows_our_own_styles_and_script_by_hash_and_nothing_else(run):
    content = html(run())
    policy = next(each["content"] for tag, each in Page(content).elements if each.get("http-equiv"))
    digest = "'sha256-[A-Za-z0-9+/=]{44}'"
    assert re.fullmatch(
        rf"default-src 'none'; img-src data:; style-src {digest} {digest}; script-src {digest}; "
        "base-uri 'none'; form-action 'none'",
        policy or "",
    )
    assert "http:" not in re.sub(r"http://127\.0\.0\.1:9\b", "", content)
    assert "https:" not in content


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


def test_what_is_no_image_or_is_gone_becomes_a_placeholder(tmp_path: Path):
    bodies = Bodies(tmp_path)
    gallery = Gallery(bodies.file)
    junk = bodies.keep(b"\x89PNG\r\n\x1a\n" * 9)
    for digest in (junk, "0" * 64):
        gallery.hang(digest)
    assert gallery[junk].state == "not an image"
    assert gallery["0" * 64].state == "missing or changed"
    assert gallery.style == ""


def test_a_page_full_of_pictures_takes_no_more(tmp_path: Path):
    bodies = Bodies(tmp_path)
    gallery = Gallery(bodies.file, room=5000)
    digests = [bodies.keep(png(seed)) for seed in range(20)]
    for digest in digests:
        gallery.hang(digest)
    assert 0 < len(gallery) < 20
    assert len(gallery.style) < 5000 + 2000
    assert gallery[digests[-1]].state == "not embedded"


def test_what_left_finds_room_before_what_came_and_what_is_left_out_is_counted(run):
    root = run()
    content = render(Reading.of(root), audit(root), room=2500)
    page = Page(content)
    assert {each["class"] for each in page.of_class("large")} == {f"pic large p{place}" for place in range(4)}
    assert "of them are not embedded, to keep the page small" in page.text
    assert len(re.findall(r"url\(", content)) == 4


def test_a_broken_chain_is_the_verdict_and_the_rest_is_shown_as_unproven(run):
    root = run()
    log = root / "transcript" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    lines[7] = lines[7].replace(b'"seq":7', b'"seq": 7')
    log.write_bytes(b"".join(lines))
    content = html(root)
    text = Page(content).text
    assert "BROKEN transcript line 8 was edited" in text
    assert f"7 lines form a chain from the start; {len(lines) - 7} more can be read" in text
    shown = steps(root)
    assert sum(name.startswith("r") for name in shown) == 13
    assert "nothing vouches for it" not in shown["r1"].text
    assert "nothing vouches for it" in shown["r13"].text


@pytest.mark.parametrize("line", [b"\xff\xfe", b"[" * 100_000, b'{"seq": 3}', b""])
def test_a_line_that_cannot_be_read_does_not_take_the_others_with_it(run, line: bytes):
    root = run()
    log = root / "transcript" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:3], line + b"\n", *lines[4:]]))
    text = Page(html(root)).text
    assert "BROKEN transcript line 4 is damaged" in text
    assert "image-to-image" in text


def test_an_unfinished_run_is_shown_as_far_as_it_came(tmp_path: Path):
    root = tmp_path / "run"
    SmallRun.open(root).close()
    text = Page(html(root)).text
    assert "BROKEN the run is unfinished" in text
    assert "#1 greeting (list of models)" in text


@pytest.mark.parametrize("content", [None, b"", b"no json\n"])
def test_a_folder_without_a_record_still_gives_a_page(tmp_path: Path, content: bytes | None):
    root = tmp_path / "run"
    if content is not None:
        (root / "transcript").mkdir(parents=True)
        (root / "transcript" / "log.jsonl").write_bytes(content)
    text = Page(html(root)).text
    assert "BROKEN" in text
    assert "No request is on record." in text


def test_a_missing_body_leaves_the_rest_of_the_page(run):
    root = run()
    outputs = next(event for event in events(root) if event["kind"] == "received")["outputs"]
    (root / "transcript" / "bodies" / outputs[0]).unlink()
    page = Page(html(root))
    assert "BROKEN answer i000/c000/n000000" in page.text
    assert any("missing or changed" in (each.get("aria-label") or "") for each in page.of_class("pic"))


def test_without_findings_nothing_holds(run):
    root = run()
    text = Page(write_viewer(root, [], root / "x.html").read_text()).text
    assert "BROKEN nothing was checked" in text


def test_a_marked_run_is_marked_at_the_top(run):
    assert (
        "INSECURE: noise came from a seed; this run has no privacy"
        in Page(html(run(noise="INSECURE-seeded"))).text
    )


def test_only_public_records_are_read(run):
    root = run()
    findings = audit(root)
    shutil.rmtree(root / "private")
    shutil.rmtree(root / "release")
    (root / "private").write_text("a file where the folder was: reading it would fail")
    assert "HOLDS" in write_viewer(root, findings, root / "x.html").read_text()


def test_a_page_that_is_there_is_replaced_and_returned(run):
    root = run()
    out = root.parent / "page.html"
    out.write_text("old")
    assert write_viewer(root, audit(root), out) == out
    assert "Everything that left" in out.read_text()


def test_numbers_keep_their_spelling_and_names_that_occur_twice_are_both_shown():
    shown, more = fields(
        '{"seed":1e400,"a":0.10,"a":123456789012345678901234567890,"b":[],"c":{},"d":null,"e":true}'
    )
    assert [(each.name, each.parts[0].text) for each in shown] == [
        ("seed", "1e400"),
        ("a", "0.10"),
        ("a", "123456789012345678901234567890"),
        ("b", "[]"),
        ("c", "{}"),
        ("d", "null"),
        ("e", "true"),
    ]
    assert more == 0


def test_images_stand_where_they_stood():
    digest = "ab" * 32
    (field, form), _ = fields(f'{{"image":"data:image/png;base64,{{{{sha256:{digest}}}}}","n":1}}')
    assert [(each.text, each.image) for each in field.parts] == [
        ("data:image/png;base64,", None),
        ("", digest),
    ]
    assert form.parts[0].text == "1"


def test_a_form_is_shown_part_by_part_under_its_heads():
    digest = "ab" * 32
    part = "Content-Disposition: form-data; name="
    text = (
        f'--xyz\r\n{part}"prompt"\r\n\r\na mark\r\n'
        f'--xyz\r\n{part}"image"; filename="a.png"\r\nX-Odd: 1\r\n\r\n{{{{raw-sha256:{digest}}}}}\r\n--xyz--\r\n'
    )
    prompt, image = fields(text)[0]
    assert (prompt.name, prompt.parts[0].text) == (f'{part}"prompt"', "a mark")
    assert image.name == f'{part}"image"; filename="a.png"; X-Odd: 1'
    assert image.parts[0].image == digest


@pytest.mark.parametrize("text", ["plain", "[" * 100_000, "--xyz\r\nno blank line\r\n--xyz--\r\n", '{"a":'])
def test_a_body_of_no_known_shape_is_shown_whole_and_what_is_left_out_is_counted(text: str):
    (field,), more = fields(text)
    assert more == 0
    assert field.parts[0].text == text[:MOST_CHARACTERS]
    assert field.parts[0].left_out == max(0, len(text) - MOST_CHARACTERS)


def test_the_same_image_under_every_name_is_embedded_once_and_told_apart(run):
    def same(request: Outgoing) -> Incoming | None:
        asked = json.loads(request.body or b"{}").get("n", 0)
        made = [{"image": images.to_base64(png(1)), "seed": 1}] * asked
        return ok({"images": made, "cost": 0.0} if asked > 1 else {**made[0], "cost": 0.0}) if asked else None

    content = html(run(FakeProvider(same)))
    assert len(re.findall(r"url\(", content)) == 1
    assert "No reason on record" not in content
    assert "i001-c001-000002" in content


def linking(request: Outgoing) -> Incoming | None:
    """An API that answers with addresses of images."""
    if request.method == "POST":
        fields = json.loads(request.body)
        seeds = range(fields["seed"], fields["seed"] + fields["batch_size"])
        return ok({"images": [{"url": f"http://127.0.0.1:8/{seed}.png"} for seed in seeds]})
    if request.url.endswith(".png"):
        seed = int(request.url.rpartition("/")[2].removesuffix(".png"))
        return Incoming(200, (("content-type", "image/png"),), png(seed))
    return None


def test_what_follows_a_link_is_told_apart_and_its_images_have_an_origin(run):
    root = run(FakeProvider(linking), dialect="siliconflow", image_hosts=("127.0.0.1:8",))
    content = html(root)
    text = Page(content).text
    assert "HOLDS" in text
    assert "Hosts contacted 2 127.0.0.1:9, 127.0.0.1:8" in text
    assert "images behind the API's links" in text
    assert "NOT IN THE PLAN" not in text
    assert "No reason on record" not in text
    proto = next(page for page in steps(root).values() if page.of_class("proto"))
    assert "i000-c000-000002, " in proto.text


def test_an_image_that_leaves_towards_a_link_has_no_reason(run):
    root = run(FakeProvider(linking), dialect="siliconflow", image_hosts=("127.0.0.1:8",))

    def smuggle(all_of: list[Event]) -> list[Event]:
        carrying = next(
            event for event in all_of if event["kind"] == "sent" and "{{" in event["body"]["text"]
        )
        place = next(
            index
            for index, event in enumerate(all_of)
            if event["kind"] == "sent" and event["slot"] == f"{carrying['slot']}/link0"
        )
        all_of[place] |= {"body": carrying["body"]}
        return all_of

    forge(root, smuggle)
    assert "No reason on record for this image to leave" in Page(html(root)).text
