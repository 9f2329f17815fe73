"""Finished runs, and what a judge found of them."""

from __future__ import annotations

import secrets
from pathlib import Path

from pcevolve.public.durable import write_private
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from support.paid import make_paid_run
from support.runs import small_plan

ACCURACY = {"mean": 0.5, "sem": 0.01, "seeds": [0.5] * 3}


JUDGED = {"judge": "cnn", "voted": False, "dataset": {"accuracy": ACCURACY}}


UNTRAINED = {"judge": "means", "voted": True, "dataset": {"accuracy": {**ACCURACY, "sem": 0.0}}}


def finish_run(root: Path, **changes: object) -> Path:
    return make_paid_run(root, small_plan(run_id=secrets.token_hex(16), **changes))


def judge(root: Path, test: str = "") -> None:
    """Keep what a judge found of a run's dataset, on some held-out data."""
    of = {"manifest": RunFolder(root).digest_manifest(), "test": test}
    write_private(OwnerFolder.of(root).judgement, {"judges": [JUDGED], "classifier": UNTRAINED, **of})
