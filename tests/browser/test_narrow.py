"""Every page at 500 pixels, light and dark, and on paper: nothing is cut off, no table has to be scrolled sideways."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.auditing import Audit
from pcevolve.keeper.finished.comparison import read_runs, write_page
from pcevolve.keeper.finished.use_page import Confusion, write_use_page
from pcevolve.public.pages.live import Standing, render_live, write_preview
from pcevolve.public.pages.report.charts import AccuracyPoint
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.pages.wire.page import render_viewer
from pcevolve.public.transcript.reader import RunReader
from support.browser import Browser, Tab
from support.paid import make_paid_run
from support.runs import small_plan

LABELS = ("adenocarcinoma of the colon, well differentiated", "mucosa")
PAGES = ("report", "own", "wire", "preview", "live", "compared", "useful")
PAPER = 700
"""CSS pixels between the margins of A4."""
INTERVAL = (0.5, 0.4, 0.6)


@pytest.fixture(scope="session")
def narrow(folder: Path) -> dict[str, Path]:
    """All kinds of pages, of runs with long words and of several classes."""
    plan = small_plan(method="pcevolve", domain="haematoxylin and eosin stained sections", labels=LABELS)
    roots = [make_paid_run(folder / "narrow" / f"a run with a long name {n}", plan) for n in range(2)]
    run = RunReader.strict(roots[0])
    made = {name: folder / "narrow" / f"{name}.html" for name in PAGES}
    points = [AccuracyPoint(name, "resnet18", False, t, 0.5, 0.01) for name in LABELS for t in range(3)]
    write_report(run, page=made["report"])
    write_report(run, points, made["own"])
    made["wire"].write_bytes(render_viewer(RunReader.lenient(roots[0]), Audit.of(roots[0]).findings))
    made["preview"] = write_preview(run)
    made["live"].write_bytes(render_live(run, Standing()))
    with (
        pytest.MonkeyPatch.context() as patch
    ):  # other tests' runs have the same id, and figures of their own
        patch.setenv("XDG_STATE_HOME", str(folder / "narrow" / "state"))
        write_page(read_runs(roots), roots, made["compared"])
    names = tuple(f"class number {n}" for n in range(9))
    counts = tuple(tuple(1000 * (n == m) for m in range(9)) for n in range(9))
    measured = {
        "word": "useful", "sentence": "it goes 50 % (40 to 60) of the way", "advice": "", "judges": ["resnet18"],
        "accuracies": {"words alone": INTERVAL, "dataset": INTERVAL, "private images": INTERVAL},
    }  # fmt: skip
    write_use_page(
        made["useful"], "a run", "image", measured, 0.1, confusion=Confusion("resnet18", names, counts)
    )
    return made


CUT_OFF = (
    "[...document.querySelectorAll('main *')].filter(each => each.getClientRects().length"
    " && (each.getBoundingClientRect().right > innerWidth + .5 || each.getBoundingClientRect().left < -.5"
    " || (each.matches('.scroll, table, td, th, pre, dd, dt') && each.scrollWidth > each.clientWidth + 1)))"
    ".map(each => each.outerHTML.slice(0, 200))"
)


def unfold(tab: Tab) -> None:
    """Open what is folded, and lay out what is far down the page."""
    tab.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    tab.run("document.querySelectorAll('.step').forEach(each => each.style.contentVisibility = 'visible')")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", PAGES)
def test_at_500_pixels_nothing_is_cut_off_and_no_table_is_scrolled(
    browser: Browser, narrow: dict[str, Path], name: str, dark: bool
):
    tab = Tab(browser, width=500, dark=dark, scripts=False).open(narrow[name])
    unfold(tab)
    assert tab.run("document.documentElement.scrollWidth") <= 500
    assert tab.run(CUT_OFF) == []


@pytest.mark.parametrize("name", PAGES)
def test_cells_of_a_narrow_table_say_what_they_are(browser: Browser, narrow: dict[str, Path], name: str):
    tab = Tab(browser, width=500, scripts=False).open(narrow[name])
    cells = "[...document.querySelectorAll('.scroll td')]"
    assert tab.run(f"{cells}.filter(each => !each.dataset.label).length") == 0
    heads = "[...new Set([...document.querySelectorAll('.scroll thead th')].map(each => each.textContent))]"
    labels = f"new Set({cells}.map(each => each.dataset.label.replace('predicted ', '')))"
    firsts = "[...document.querySelectorAll('.scroll thead tr')].map(each => each.cells[0].textContent)"
    missing = tab.run(
        f"(() => {{ const told = {labels}; return {heads}.filter(each => !told.has(each)) }})()"
    )
    assert {*missing} <= {*tab.run(firsts)}, "each column but the rows' own names is told again in its cells"


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_a_page_has_all_that_the_screen_has_in_its_colours(
    browser: Browser, narrow: dict[str, Path], name: str
):
    tab = Tab(browser, width=PAPER, scripts=False).open(narrow[name])
    unfold(tab)
    text = "document.querySelector('main').innerText.replace(/\\s+/g, ' ')"
    on_screen = tab.run(f"[...document.querySelectorAll('.bar')].map(each => each.remove()), {text}")
    tab("Emulation.setEmulatedMedia", media="print", features=[])
    assert tab.run(text) == on_screen
    assert tab.run(CUT_OFF) == []
    assert tab.run("getComputedStyle(document.querySelector('main *')).printColorAdjust") == "exact"
