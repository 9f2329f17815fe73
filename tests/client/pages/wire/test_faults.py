"""The wire viewer on records that are forged, damaged, unfinished or missing: what is wrong stands out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pcevolve.pages.wire import write_viewer
from pcevolve.transcript import RunReader
from pcevolve_shared import images
from support.forge import Event, forge
from support.provider import FakeProvider, linking, png
from support.viewer import Page, html, steps

Make = Callable[..., Path]


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
    assert "No reason on record for this image to leave" in page.text
    assert "No answer on record had brought it: it is not the provider's." in page.text
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
    assert f"7 lines form a chain from the start; {len(lines) - 7} more can be read" in text
    shown = steps(root)
    assert sum(name.startswith("r") for name in shown) == 13
    assert "nothing vouches for it" not in shown["r1"].text
    assert "nothing vouches for it" in shown["r13"].text


def test_without_findings_nothing_holds(finished: Make):
    root = finished()
    text = Page(write_viewer(RunReader.lenient(root), [], root / "x.html").read_text()).text
    assert "BROKEN nothing was checked" in text


def test_an_image_that_leaves_towards_a_link_has_no_reason(finished: Make):
    root = finished(FakeProvider(linking), dialect="siliconflow", image_hosts=("127.0.0.1:8",))

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
