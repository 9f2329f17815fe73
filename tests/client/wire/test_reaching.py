"""How a run's API is reached, and what its owner is told of the way."""

from __future__ import annotations

import io
from contextlib import closing

import pytest
from rich.console import Console

from pcevolve.public.config.config import RunConfig
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.log import Transcript
from pcevolve.wire.reaching import RunnerJob, connect, make_address

KEY = "correct-horse-battery-staple"


@pytest.mark.parametrize(("url", "warns"), [("http://gpu.lab:8000", True), ("https://gpu.lab", False)])
def test_a_run_that_would_send_its_key_in_clear_says_so_before_it_sends_anything(tmp_path, url, warns):
    said, given = (
        io.StringIO(),
        {"private": "p", "domain": "d", "model": "m", "shots": 1, "out": "o", "api": url},
    )
    job = RunnerJob(RunConfig.of(given).public(), RunFolder(tmp_path), KEY)
    address, console = make_address(job.settings.provider, KEY), Console(file=said, width=200)
    with (
        closing(Transcript(tmp_path / "transcript")) as transcript,
        connect(job, address, transcript, console),
    ):
        assert ("the API key is sent to gpu.lab:8000 over plain http" in said.getvalue()) == warns
    assert KEY not in said.getvalue()
