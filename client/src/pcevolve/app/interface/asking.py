"""Have a process without network do work with files, as the command line does.

A program that imports ``pcevolve`` may have both private files and the network. The process that reads
files for the program has no network. It receives an order, answers once, and ends. It prints reasons about
private data on stderr itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from pcevolve.app.session.staff import give_room
from pcevolve.errors import ProtocolError, rebuild_error
from pcevolve.public.processes import launcher
from pcevolve.public.processes.confinement import list_caches
from pcevolve.public.processes.pipe import PipeError

WORKER = "pcevolve.app.interface.answering:answer"
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class TaskRefusal:
    """Why a process did not do its work; ``REPORTED_ELSEWHERE`` if it told the owner itself."""

    kind: str
    lines: tuple[str, ...]
    is_reported: bool


def ask(
    task: str,
    expected: type[Answer],
    given: Mapping[str, Any],
    *,
    reads: Iterable[Path | None] = (),
    writes: Iterable[Path] = (),
    quiet: bool = False,
) -> Answer:
    """Have a task done, and return its result.

    Args:
        task: A name in ``answering.WORK``.
        given: The task's arguments, as JSON.
        reads: All files and folders that the process may read; the process reports missing ones.
        writes: Those that it may change.

    Raises:
        ClientError: The task failed.
    """
    order = {"task": task, "given": dict(given), "quiet": quiet}
    there = [
        [str(path.absolute()) for path in paths if path is not None and path.exists()]
        for paths in (reads, writes)
    ]
    name, body = exchange(order, *there)
    try:
        if name == "failed":
            refused = TypeAdapter(TaskRefusal).validate_json(body)
            raise rebuild_error(refused.kind, *refused.lines, is_reported=refused.is_reported)
        return TypeAdapter(expected).validate_json(body)
    except ValidationError:
        raise ProtocolError(f"a process that was asked to {task} sent what is no answer") from None


def exchange(order: Mapping[str, Any], reads: list[str], writes: list[str]) -> tuple[str, str]:
    """Start a process, send an order, wait for its end, and return the answer's name and JSON text."""
    worker = launcher.start_worker()
    is_over = False
    try:
        with give_room() as room:
            worker.order(WORKER, [*list_caches(), *reads], [str(room), *writes], room=str(room), **order)
            answer = worker.pipe.receive()
            is_over = True
            return answer
    except PipeError:
        raise ProtocolError(f"the process that was asked to {order['task']} ended unexpectedly") from None
    finally:
        worker.end(kill=not is_over)


def refuse(kind: str, lines: Iterable[str], *, is_reported: bool) -> tuple[str, str]:
    """Return the message of a process that did not do its work."""
    refusal = TaskRefusal(kind, tuple(lines), is_reported)
    return "failed", TypeAdapter(dict[str, Any]).dump_json(asdict(refusal)).decode()
