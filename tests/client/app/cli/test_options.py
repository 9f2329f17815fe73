"""The command line, the page about it and the file of ``pcevolve init`` are what the options' declarations say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("pcevolve au", ["audit", "audit-dp"]),
        ("pcevolve run --res", ["--resume"]),
        ("pcevolve run --set privacy.rel", ["privacy.relation="]),
        ("pcevolve run --set privacy.relation=a", ["privacy.relation=add-remove"]),
        ("pcevolve run --set method.th", ["method.threshold=", "method.threshold_end="]),
        ("pcevolve budget sh", ["show"]),
    ],
)
def test_a_shell_can_complete_commands_options_and_their_words(typed, offered):
    environment = {**os.environ, "_PCEVOLVE_COMPLETE": "bash_complete", "COMP_WORDS": typed}
    environment["COMP_CWORD"] = str(len(typed.split()) - 1)
    command = [Path(sys.executable).parent / "pcevolve"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [f"plain,{each}" for each in offered]
