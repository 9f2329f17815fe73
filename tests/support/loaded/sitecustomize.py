"""Has each process of a run leave the names of the modules that it has loaded at its end.

Python imports this by itself where its folder is on PYTHONPATH. ``LOADED`` says, as JSON, for which role in which file.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from pathlib import Path

CHILD = "pcevolve.public.processes.child"


def leave_names(path: str) -> None:
    files = {name: getattr(each, "__file__", None) for name, each in [*sys.modules.items()]}
    Path(path).write_text(json.dumps({name: path for name, path in files.items() if path}))


if "LOADED" in os.environ and CHILD in sys.orig_argv:
    _file = json.loads(os.environ["LOADED"]).get(sys.orig_argv[sys.orig_argv.index(CHILD) + 1])
    if _file is not None:
        atexit.register(leave_names, _file)
