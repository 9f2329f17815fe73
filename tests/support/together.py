"""Runs in one process, where fakes stand in for parts and a watcher sees all; the product has no such way."""

from __future__ import annotations

from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

from pcevolve.app.cli import main
from pcevolve.app.interface import answering, asking
from pcevolve.app.session.staff import Staff, begin_without_keeper
from pcevolve.public.durable import write_private
from pcevolve.public.processes import launcher
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.run.progress import Audience

NO_CHILDREN: Any = SimpleNamespace(pids=(), end=lambda kill=False: None)


def bring_together(*_: object) -> None:
    """Have all runs of this process done by itself, which then is as free as it was begun."""
    launcher.start_children = lambda: NO_CHILDREN
    main.confine_offline = lambda *_, **__: None  # type: ignore[assignment,return-value]
    main.confine_online = lambda: None  # type: ignore[assignment,return-value]
    Staff.carry_out = _carry_out  # type: ignore[method-assign]
    Staff.measure = _measure  # type: ignore[method-assign]
    asking.exchange = lambda order, *_: answering.perform(order)


def _carry_out(
    self: Staff, run: CheckedRun, audience: Audience, *, only_look: bool = False, door: object = None
) -> dict[str, Any]:
    if run.settings.data.from_run is not None:
        return _follow(run, audience, only_look)
    from pcevolve_benchmarks.together import execute, preview

    if only_look:
        preview(run, audience)
        return {}
    return execute(run, audience).summary


def _follow(run: CheckedRun, audience: Audience, only_look: bool) -> dict[str, Any]:
    from pcevolve.wire.following import follow, preview_following
    from pcevolve_benchmarks.together import describe_job

    with run.folder.claim(run.resume):
        begin = begin_without_keeper(run)
        if only_look:
            preview_following(describe_job(run), audience, begin)
            return {}
        summary = follow(describe_job(run), audience, begin)
        write_private(OwnerFolder.of(run.folder.root, run.settings.privacy.ledger).bind().result, summary)
        run.folder.forget_times()
        return summary


def _measure(self: Staff, work: str, run: CheckedRun, audience: Audience, **asked: Any) -> dict[str, Any]:
    found: dict[str, Any] = resolve_name(work)(run, audience, **asked)
    return found
