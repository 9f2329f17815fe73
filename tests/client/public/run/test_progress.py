"""What a run says of its private work while it lasts."""

from __future__ import annotations

from rich.console import Console

from pcevolve.public.run import progress
from pcevolve.public.run.progress import show_work


def test_a_log_is_told_a_share_and_no_count_and_no_time(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", -1.0)
    with show_work(Console(stderr=True, width=200), "embedding private images") as told:
        told(1234, 4321)
        told(4321, 4321)
    assert capsys.readouterr().err.splitlines() == [
        "embedding private images: 29%",
        "embedding private images: 100%",
    ]
