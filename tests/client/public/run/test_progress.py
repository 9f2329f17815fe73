"""What a run says of its private work while it lasts."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from pcevolve.public.run import progress
from pcevolve.public.run.progress import Audience, Progress, error_console, show_work, tell_training_time


def test_a_log_is_told_a_share_and_no_count_and_no_time(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", -1.0)
    with show_work(Console(stderr=True, width=200), "embedding private images") as show_progress:
        show_progress(1234, 4321)
        show_progress(4321, 4321)
    assert capsys.readouterr().err.splitlines() == [
        "embedding private images: 29%",
        "embedding private images: 100%",
    ]


def test_a_log_is_told_nothing_of_work_that_ends_before_anybody_would_ask(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", 600.0)
    with show_work(Console(stderr=True, width=200), "embedding private images") as show_progress:
        show_progress(1234, 4321)
    assert capsys.readouterr().err == ""


def test_a_message_is_printed_as_it_is_and_as_long_as_it_is(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    said = "[b]3[/b] of 'x' :smile: " + "y" * 300
    error_console().print(said)
    assert capsys.readouterr().err == f"{said}\n"


def test_nobody_is_told_every_fact_who_did_not_ask_for_it():
    assert not Audience().verbose


def test_the_time_of_training_is_said_beforehand_in_words(capsys):
    for seconds in (20, 200):
        tell_training_time(error_console(), seconds)
    assert capsys.readouterr().err == (
        "training classifiers will take less than a minute\ntraining classifiers will take about 3 min\n"
    )


def test_the_time_left_is_that_of_the_images_that_are_missing_and_of_no_pace_there_is_none():
    begun = Progress(images=40, total=100, iteration=1, iterations=2, epsilon=None)
    assert begun.left == ""
    assert replace(begun, seconds_per_image=6.0).left == "about 6 min"
