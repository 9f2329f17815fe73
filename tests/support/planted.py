"""Work for a process of a run that has been taken over: it tries everything, and tells what got past."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe
from support import intruder


def attack(orders: Mapping[str, Any], enforced: Enforcement, up: Pipe, *_: Pipe) -> None:
    """Be taken over: the orders name a kind of process, its headers' numbers, and the folder of ``lay_out``."""
    import numpy  # noqa: F401 - its threads are older than the attack

    attempts = intruder.ATTEMPTS[orders["kind"]]
    answers = intruder.try_calls(attempts, orders["numbers"])
    past = [each for each, answer in answers.items() if answer != intruder.refusal(each)]
    files = [name for name, succeeds in intruder.try_files(Path(orders["folder"])).items() if succeeds]
    others = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        if int(name) > 2 or orders["kind"] == "runner":
            try:
                others.append(os.readlink(f"/proc/self/fd/{name}"))  # noqa: PTH115
            except OSError:  # that of the listing
                continue
    kept = (f"/proc/{os.getpid()}", "/proc/cpuinfo", "/proc/meminfo", "/proc/filesystems")  # by ``landlock``
    harmless = (os.devnull, *kept)
    open_files = [each for each in others if not each.startswith("pipe:") and each not in harmless]
    print(f"a {orders['kind']} that was taken over")
    up.send(
        "found",
        json.dumps(
            {
                "tried": len(answers),
                "past": past,
                "files": files,
                "open": open_files,
                "enforced": str(enforced),
                "umask": os.umask(0o777),
            }
        ),
    )
