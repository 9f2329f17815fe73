"""A page is opened, though the process that asks for it can start nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pcevolve.public.processes.browser import open_in_browser, prepare_browser
from pcevolve.public.processes.confinement import confine_offline
from support.confined import confines, in_a_process


@confines
def test_a_confined_process_has_a_page_opened_by_one_that_it_started_before(folder: Path) -> None:
    script = folder / "browser"
    script.write_text(
        f'#!/bin/sh\necho "$1" > {folder}/own/opened.new && mv {folder}/own/opened.new {folder}/own/opened\n'
    )
    script.chmod(0o755)

    def work() -> str:
        os.environ["BROWSER"] = f"{script} %s"
        prepare_browser()
        confine_offline()
        open_in_browser("file:///run/live.html")
        for _ in range(600):
            if (folder / "own" / "opened").exists():
                return (folder / "own" / "opened").read_text()
            time.sleep(0.05)
        return "nothing was opened"

    assert in_a_process(work, root=True) == "file:///run/live.html\n"
