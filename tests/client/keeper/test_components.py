"""Parts of a run, put together."""

from __future__ import annotations

from pathlib import Path

from pcevolve.app.session.preflight import check_run
from pcevolve.keeper.components import Components
from pcevolve.public.config.config import RunConfig
from pcevolve.public.parts import Secrecy

SAID = {"private": "private", "out": "run", "domain": "leather texture", "method": "t2i"}


def test_votes_are_capped_by_the_list_of_secrets_that_the_ledger_was_told_of(tmp_path: Path):
    rows = ["text,label", "ann is ill,flu", "bob is ill,gout"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    (tmp_path / "secrets").write_text("ann\n")
    said = {**SAID, "private": str(tmp_path / "t.csv"), "dialect": "chat", "method": "secpe", "shots": 1}
    options = RunConfig.of({**said, "secrets": str(tmp_path / "secrets"), "out": str(tmp_path / "run")})
    components, promise = Components.of(check_run(options)), Secrecy(prior=1e-4, bound=1e-3, most=1)
    first = components.read_secrets(promise)
    (tmp_path / "secrets").write_text("bob\n")
    assert components.read_secrets(promise) == first
