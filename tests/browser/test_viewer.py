"""The wire viewer in a real browser: it fetches nothing, its filters work, everybody can read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve.public.pages.wire.page import render_viewer
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.transport import Incoming, Outgoing
from support.browser import Browser, Tab
from support.paid import make_paid_run
from support.provider import FakeProvider
from support.runs import small_plan

HOSTILE = '"><script>document.title="owned"</script><img src=x onerror="document.title=1">'
SHOWN = "[...document.querySelectorAll('.step')].filter(step => step.offsetHeight > 0)"


def page(root: Path) -> Path:
    out = root / "viewer.html"
    out.write_bytes(render_viewer(RunReader.lenient(root), audit(root)))
    return out


def refuse_once() -> FakeProvider:
    """An API that is busy at the third request, and says so in markup."""
    asked: list[Outgoing] = []

    def meddle(request: Outgoing) -> Incoming | None:
        asked.append(request)
        return Incoming(503, (("x-<b>", HOSTILE),), HOSTILE.encode()) if len(asked) == 3 else None

    return FakeProvider(meddle)


@pytest.fixture(scope="session")
def viewer(folder: Path) -> Path:
    """Two classes under hostile names, two iterations, one retry."""
    labels = ("cut", "&lt;img src=x onerror=alert(1)&gt;'")
    plan = small_plan(method="pcevolve", labels=labels, domain=HOSTILE, negative_prompt="x " * 500)
    return page(make_paid_run(folder / "small", plan, refuse_once()))


def choose(tab: Tab, name: str, value: str) -> None:
    tab.run(
        f"document.getElementById('{name}').value = {json.dumps(value)};"
        f"document.getElementById('{name}').dispatchEvent(new Event('change'))"
    )


def test_the_page_fetches_nothing_and_nothing_hostile_runs(browser: Browser, viewer: Path):
    tab = Tab(browser).open(viewer)
    assert tab.fetched == [viewer.as_uri()]
    assert tab.complaints == []
    assert tab.run("document.title").startswith("Holds: what was sent")
    assert tab.run("document.scripts.length") == 1
    assert tab.run("document.images.length") == 0


def test_its_policy_stops_what_escaping_would_have_let_through(browser: Browser, viewer: Path):
    broken = viewer.with_name("unescaped.html")
    added = '<script>document.title="owned"</script><img src="https://example.com/x.png"></main>'
    broken.write_text(viewer.read_text().replace("</main>", added))
    tab = Tab(browser).open(broken)
    assert tab.run("document.title").startswith("Holds: what was sent")
    assert {each["entry"]["source"] for each in tab.complaints} == {"security"}
    assert len(tab.complaints) == 2


def test_filters_leave_what_was_asked_for_and_say_how_much(browser: Browser, viewer: Path):
    tab = Tab(browser).open(viewer)
    every = tab.run(f"{SHOWN}.length")
    choose(tab, "by-kind", "variation")
    assert tab.run(f"[...new Set({SHOWN}.map(step => step.dataset.kind))]") == ["variation"]
    assert tab.run("document.getElementById('shown').textContent") == f"8 of {every} shown"
    choose(tab, "by-round", "2")
    choose(tab, "by-class", "cut")
    assert tab.run(f"{SHOWN}.map(step => step.querySelector('.side code').textContent)") == [
        "i002/c000/n000000",
        "i002/c000/n000002",
    ]
    tab.run("document.getElementById('reset').click()")
    assert tab.run(f"{SHOWN}.length") == every


def test_a_person_without_a_mouse_can_filter(browser: Browser, viewer: Path):
    tab = Tab(browser).open(viewer)
    tab.run("document.getElementById('by-kind').focus()")
    tab.press("Tab", 9)
    assert tab.run("document.activeElement.id") == "with-image"
    tab.press(" ", 32, " ")
    assert tab.run(f"{SHOWN}.every(step => step.querySelector('.proto'))") is True
    assert tab.run(f"{SHOWN}.length") == 8
    tab.press("Tab", 9)
    tab.press(" ", 32, " ")
    assert tab.run(f"{SHOWN}.length") == 0


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_sticks_out_sideways(browser: Browser, viewer: Path, width: int):
    tab = Tab(browser, width=width).open(viewer)
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.list_cut_off() == []


def test_without_scripts_everything_is_there_and_nothing_is_offered_that_would_not_work(
    browser: Browser, viewer: Path
):
    tab = Tab(browser, scripts=False).open(viewer)
    document = tab("DOM.getDocument")["root"]["nodeId"]
    steps = tab("DOM.querySelectorAll", nodeId=document, selector=".step")["nodeIds"]
    hidden = tab("DOM.querySelectorAll", nodeId=document, selector=".step[hidden]")["nodeIds"]
    assert len(steps) == viewer.read_text().count('<article class="step')
    assert hidden == []
    assert tab("DOM.querySelectorAll", nodeId=document, selector="#filters[hidden]")["nodeIds"]
    assert len(tab("DOM.querySelectorAll", nodeId=document, selector=".jumps a")["nodeIds"]) == 3


def test_a_broken_run_says_so_first(browser: Browser, viewer: Path, folder: Path):
    root = folder / "broken"
    (root / "transcript").mkdir(parents=True)
    log = viewer.parent / "transcript" / "log.jsonl"
    (root / "transcript" / "log.jsonl").write_bytes(
        log.read_bytes().replace(b'"status":200', b'"status":201', 1)
    )
    tab = Tab(browser, width=400).open(page(root))
    assert tab.run("document.getElementById('verdict').textContent").startswith("BROKEN transcript line")
    assert tab.run("document.getElementById('verdict').getBoundingClientRect().bottom < innerHeight") is True
    assert tab.complaints == []
