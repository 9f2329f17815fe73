"""What a terminal shows of a run: the first of each class, and a bar with the time that is left."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from pcevolve.public.run.progress import Audience, Progress
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire import showing
from pcevolve.wire.egress.transport import Outgoing
from pcevolve.wire.showing import RunProgress, keep_live_page, show_first, show_page
from support.paid import make_paid_run
from support.provider import FakeProvider
from support.runs import SmallRun, small_plan


def shown(run: RunReader, **of_console: object) -> str:
    out = StringIO()
    show_first(run, run.plan, Console(file=out, width=100, **of_console))
    return out.getvalue()


def test_pictures_are_for_terminals_with_colours(world, tmp_path):
    world("getimg").open(tmp_path).finish()
    run = RunReader.strict(tmp_path)
    assert shown(run) == ""
    said = shown(run, force_terminal=True, color_system="truecolor")
    assert "\N{LOWER HALF BLOCK}" in said or "\N{UPPER HALF BLOCK}" in said
    assert all(label in said for label in run.plan.labels)


def test_texts_are_a_line_each_under_their_prompt(world, tmp_path):
    world("chat").open(tmp_path).finish()
    run = RunReader.strict(tmp_path)
    lines = shown(run).splitlines()
    assert sum(not line.startswith("  ") for line in lines) == len(run.plan.labels)
    assert 1 <= sum(line.startswith("  ") for line in lines) <= 4 * len(run.plan.labels)


@pytest.mark.parametrize(
    "plan", [{}, {"dialect": "chat", "modality": {"kind": "text", "tokens": 9, "temperature": 1}}]
)
def test_what_was_on_record_before_says_nothing_about_the_time_that_is_left(plan: dict[str, object]):
    made, now, told, screen = small_plan(**plan), [5000.0], [], io.StringIO()
    calls = list(made.calls.values())
    recorded = frozenset(call.slot for call in calls[:6])
    console = Console(file=screen, force_terminal=False, width=200, soft_wrap=True)
    progress = RunProgress(made, "random", Audience(console, told.append), str, recorded, lambda: now[0])
    for call in calls[:6]:
        now[0] += 2.0  # what is on record has to be read, and private data are looked at again
        progress.generated(call)
        assert (told[-1].seconds_per_image, told[-1].left) == (None, "")
    now[0] += 100.0 * calls[6].count
    progress.generated(calls[6])
    assert told[-1].images == sum(call.count for call in calls[:7])
    assert told[-1].seconds_per_image == 100.0
    total = sum(call.count for call in calls)
    left = f"about {round((total - told[-1].images) * 100 / 60)} min"
    assert told[-1].left == left
    assert f"{told[-1].images}/{total} {'texts' if plan else 'images'}, {left} left" in screen.getvalue()


RELOADS = ("location.reload()", 'http-equiv="refresh"')
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_paid_run(tmp_path_factory.mktemp("live") / "run", small_plan())


@contextmanager
def kept(root: Path) -> Iterator[tuple[Audience, io.StringIO]]:
    said = io.StringIO()
    with keep_live_page(RunLayout(root), Audience(Console(file=said, width=500))) as audience:
        yield audience, said


def tell_shown(root: Path) -> str:
    """What is said when the page is shown."""
    said = io.StringIO()
    show_page(root / "live.html", Console(file=said, width=500))
    return said.getvalue()


def read(root: Path) -> str:
    return (root / "live.html").read_text()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert is_so()


def test_it_is_there_at_once_and_reloads_itself_until_the_run_has_ended(run: Path):
    with kept(run):
        page = read(run)
        assert all(each in page for each in RELOADS)
        assert page.count("data:image/jpeg") > 1
    assert "The run is finished" in read(run)
    assert not any(each in read(run) for each in RELOADS)
    with pytest.raises(KeyboardInterrupt), kept(run):
        raise KeyboardInterrupt
    assert "The run was cut off" in read(run)
    assert not any(each in read(run) for each in RELOADS)


def test_it_follows_what_the_record_gets_and_what_is_told_and_whoever_listened_still_hears_it(tmp_path: Path):
    heard: list[Progress] = []
    audiences: list[Audience] = []

    def look_at_the_first_variation(request: Outgoing) -> None:
        if b'"strength"' in request.body and not heard:
            wait_until(lambda: 'id="releases"' in read(tmp_path))
            audiences[0].tell(Progress(1, 4, 1, 2, 0.5, "12 requests, $0.34"))
            wait_until(lambda: "12 requests, $0.34" in read(tmp_path))

    small = SmallRun.open(tmp_path, small_plan(), FakeProvider(look_at_the_first_variation))
    with keep_live_page(RunLayout(tmp_path), Audience(tell=heard.append)) as audience:
        audiences.append(audience)
        assert "None yet. No privacy budget has been spent" in read(tmp_path)
        small.evolve()
    small.close()
    assert [each.bill for each in heard] == ["12 requests, $0.34"]


def test_it_is_written_no_more_often_than_it_reloads_and_in_a_fortieth_of_the_time(
    run: Path, monkeypatch: pytest.MonkeyPatch
):
    written: list[tuple[float, float]] = []

    def render_slowly(*of: object) -> bytes:
        began = time.monotonic()
        time.sleep(0.1)
        written.append((began, time.monotonic()))
        return b"page"

    monkeypatch.setattr(showing, "render_live", render_slowly)
    with kept(run) as (audience, _):
        began = time.monotonic()
        while time.monotonic() < began + 3.6:
            audience.tell(Progress(1, 4, 0, 2, time.monotonic()))
            audience.tell(Progress(1, 4, 0, 2, 0.0, f"{time.monotonic()}"))
            time.sleep(0.01)
    followed = written[1:-1]
    # A second one would come 1.5 s after the first, which took a fortieth of 4 s.
    assert len(followed) == 1
    assert followed[0][0] - began >= 1.45


def test_it_tells_no_time_and_a_reader_never_finds_half_of_it(run: Path):
    with kept(run) as (audience, _):
        for number in range(5):
            audience.tell(Progress(1, 4, 0, 2, 0.0, f"{number}"))
            for _ in range(20):
                assert read(run).rstrip().endswith("</html>")
                time.sleep(0.01)
            assert (run / "live.html").stat().st_mtime == 315_532_800


def test_a_page_that_cannot_be_made_or_written_is_no_trouble_for_the_run(
    run: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(*of: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(showing, "PAUSE_SECONDS", 0.01)
    with kept(run) as (audience, _):
        monkeypatch.setattr(showing, "render_live", fail)
        audience.tell(Progress(1, 4, 0, 2, 0.0, "unseen"))
        time.sleep(0.2)
        monkeypatch.undo()
        audience.tell(Progress(1, 4, 0, 2, 0.0, "seen again"))
        wait_until(lambda: "seen again" in read(run))


def test_without_a_screen_the_path_is_said_and_no_browser_of_a_terminal_takes_it_over(
    run: Path, monkeypatch: pytest.MonkeyPatch
):
    opened: list[str] = []
    for name in SCREENS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(showing.sys, "platform", "linux")
    monkeypatch.setattr(showing, "open_in_browser", opened.append)
    assert tell_shown(run) == f"this page shows the progress of the run: {run}/live.html\n"
    with kept(run) as (_, said):
        assert said.getvalue() == ""
    assert opened == []


@pytest.mark.parametrize("name", SCREENS)
def test_with_a_screen_the_page_is_opened_by_its_file_s_address_and_a_browser_that_stays_does_not_hold_the_run(
    name: str, run: Path, monkeypatch: pytest.MonkeyPatch
):
    script, opened = run.parent / "browser", run.parent / "opened"
    script.write_text(f'#!/bin/sh\necho "$1" > {opened}\nexec sleep 60 0<&- 1>&- 2>&-\n')
    script.chmod(0o755)
    monkeypatch.setenv(name, "x")
    monkeypatch.setenv("BROWSER", f"{script} %s")
    began = time.monotonic()
    assert tell_shown(run) == f"this page shows the progress of the run: {run}/live.html\n"
    wait_until(lambda: opened.exists() and opened.read_text() == f"file://{run}/live.html\n")
    assert time.monotonic() - began < 30


def test_a_folder_that_goes_away_meanwhile_is_no_trouble(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    root = make_paid_run(tmp_path / "run", small_plan())
    with kept(root):
        root.rename(tmp_path / "moved")
        time.sleep(0.7)
    assert capfd.readouterr().err == ""
