"""Report and preview in a real browser: they fetch nothing, fit any window, and the first screen says what matters."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.keeper.finished.comparison import read_runs, write_page
from pcevolve.public.pages.live import write_preview
from pcevolve.public.pages.report.charts import AccuracyPoint
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.transcript.reader import RunReader
from support.browser import Browser, Tab
from support.paid import make_paid_run
from support.runs import small_plan

HOSTILE = '"><script>document.title="owned"</script>' + "x" * 60
POINTS = [
    AccuracyPoint(name, "cnn", False, t, 0.3 + t / 10, 0.01) for name in ("ours", "control") for t in range(3)
]


@pytest.fixture(scope="session")
def pages(folder: Path) -> dict[str, Path]:
    """A run with hostile words, and its pages."""
    plan = small_plan(method="pcevolve", domain=HOSTILE, labels=("cut", "y" * 60))
    run = RunReader.strict(make_paid_run(folder / "pages", plan))
    own = folder / "own" / "report.html"
    own.parent.mkdir(exist_ok=True)
    compared_page = folder / "compared.html"
    write_page(read_runs([run.layout.root]), [run.layout.root], compared_page)
    return {
        "compared": compared_page,
        "report": write_report(run),
        "own": write_report(run, POINTS, own),
        "preview": write_preview(run),
    }


@pytest.mark.parametrize("name", ["report", "own", "preview", "compared"])
def test_a_page_fetches_nothing_runs_nothing_and_shows_its_pictures(
    browser: Browser, pages: dict[str, Path], name: str
):
    tab = Tab(browser).open(pages[name])
    assert tab.fetched == [pages[name].as_uri()]
    assert tab.complaints == []
    assert tab.run("document.scripts.length") == 0
    assert tab.run("document.images.length") > 0
    assert tab.run("[...document.images].every(image => image.naturalWidth > 0)") is True
    assert tab.run("document.title") != "owned"


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1280, True)])
@pytest.mark.parametrize("name", ["report", "own", "preview", "compared"])
def test_nothing_sticks_out_sideways(
    browser: Browser, pages: dict[str, Path], name: str, width: int, dark: bool
):
    tab = Tab(browser, width=width, dark=dark).open(pages[name])
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.list_cut_off() == []


def test_the_first_screen_says_what_left_what_did_not_and_what_an_attacker_can_tell(
    browser: Browser, folder: Path
):
    run = RunReader.strict(make_paid_run(folder / "first", small_plan(method="pcevolve")))
    tab = Tab(browser, width=1280, height=800).open(write_report(run))
    seen = "[...document.querySelectorAll('.brief dt')].filter(each => each.getBoundingClientRect().bottom < 800)"
    assert tab.run(f"{seen}.map(each => each.textContent)") == [
        "What was sent",
        "What was not sent",
        "What an attacker can find out",
        "What this assumes",
        "When",
        "How to check it",
    ]
