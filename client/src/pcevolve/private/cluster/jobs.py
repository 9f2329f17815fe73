"""Whole jobs on Ray, for public images alone: what they are given and what they find goes through the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pcevolve.errors import ClientError, EngineError
from pcevolve.private.cluster.connection import connected

Job = TypeVar("Job")
Found = TypeVar("Found")


def each_done(
    work: Callable[[Job], Found],
    jobs: Sequence[Job],
    begun: Callable[[Job], None],
    most: int,
    address: str | None,
    scratch: Path,
) -> Iterator[tuple[Job, Found | ClientError]]:
    """Yield each job's outcome, in the order in which they end; one whose process dies is not begun again.

    Args:
        work: A function of an installed module.
        jobs: What it is given.
        begun: Is told of each job when it is handed to the cluster.
        most: How many at a time.
        address: ``HOST:PORT`` of the user's cluster; None for one on this machine, which ends with the work.
        scratch: Folder for what that one writes; it is gone afterwards.

    Raises:
        UsageError: There is no cluster at the address, or none can be started.
    """
    with connected(address, scratch):
        import ray

        task = ray.remote(num_cpus=1, max_retries=0)(attempt)
        waiting: dict[Any, Job] = {}
        for job in jobs:
            if len(waiting) >= most:
                yield _take(waiting)
            begun(job)
            waiting[task.remote(work, job)] = job
        while waiting:
            yield _take(waiting)


def attempt(work: Callable[[Job], Found], job: Job) -> Found | ClientError:
    """Run a job on a worker; an error is handed back as it is, for Ray would put a trace into its text."""
    try:
        return work(job)
    except ClientError as error:
        return error


def _take(waiting: dict[Any, Job]) -> tuple[Job, Any]:
    """Wait for any job, and take what came of it."""
    import ray

    (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
    job = waiting.pop(ready)
    try:
        return job, ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        raise error.cause or error from None
    except ray.exceptions.RayError as error:
        return job, EngineError(f"its process on the cluster died ({type(error).__name__})")
