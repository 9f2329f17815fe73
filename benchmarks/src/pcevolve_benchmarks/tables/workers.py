"""Who carries out the runs of a table: processes, or a Ray cluster; one that dies costs its run alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from pcevolve.errors import ClientError, EngineError

Job = TypeVar("Job")
Found = TypeVar("Found")
Work = Callable[[Job], Found]
Begun = Callable[[Job], None]


class Workers(Protocol):
    """Carries out jobs beside each other."""

    def each_done(
        self, work: Work[Job, Found], jobs: Sequence[Job], begun: Begun[Job]
    ) -> Iterator[tuple[Job, Found | ClientError]]:
        """Yield the outcome of each job, in the order in which they end.

        Args:
            work: A function of a module, for it is sent to other processes.
            jobs: What it is given; sent as well.
            begun: Is told of each job when there is room for it, from any thread.
        """
        ...


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, each for one job after another; they end with the process that began them.

    Attributes:
        most: How many at a time.
    """

    most: int

    def each_done(
        self, work: Work[Job, Found], jobs: Sequence[Job], begun: Begun[Job]
    ) -> Iterator[tuple[Job, Found | ClientError]]:
        """See ``Workers``."""
        if self.most > 1:
            os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the processes, which share the cores
        slots: SimpleQueue[_Slot] = SimpleQueue()
        for _ in range(self.most):
            slots.put(_Slot())
        threads = ThreadPoolExecutor(self.most)
        try:
            waiting = {threads.submit(_in_a_slot, slots, work, job, begun): job for job in jobs}
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
            while not slots.empty():
                slots.get().close()


class _Slot:
    """Room for one process, which is replaced when it has died."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def carry_out_job(self, work: Work[Job, Found], job: Job) -> Found:
        """Have the process carry out a job.

        Raises:
            EngineError: It died.
        """
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=end_with_parent)
        try:
            return self._pool.submit(work, job).result()
        except BrokenProcessPool:
            self.close()
            raise EngineError("its process died, as when memory runs out or somebody kills it") from None

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None


def _in_a_slot(
    slots: SimpleQueue[_Slot], work: Work[Job, Found], job: Job, begun: Begun[Job]
) -> Found | ClientError:
    """Run a job in a process that nobody else uses meanwhile, and return its outcome."""
    slot = slots.get()
    begun(job)
    try:
        return slot.carry_out_job(work, job)
    except ClientError as error:
        return error
    finally:
        slots.put(slot)


def end_with_parent() -> None:
    """Have this process end when the one that began it is gone, also by ``kill -9``: it would go on with its run."""

    def wait() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster, of this machine for the work alone or the user's own; it needs the same folders everywhere.

    Attributes:
        most: How many jobs at a time.
        address: ``HOST:PORT`` of the user's; None for one of our own.
        scratch: Folder for what a cluster of our own writes; gone afterwards.
    """

    most: int
    address: str | None
    scratch: Path

    def each_done(
        self, work: Work[Job, Found], jobs: Sequence[Job], begun: Begun[Job]
    ) -> Iterator[tuple[Job, Found | ClientError]]:
        """See ``Workers``; a job whose process dies is not begun again.

        Raises:
            UsageError: There is no cluster at the address, or none can be started.
        """
        from pcevolve.private.cluster import connect  # Ray takes seconds to load, and need not be installed

        with connect(self.address, self.scratch):
            import ray

            # No retries: a whole run that killed its process would kill the next.
            task = ray.remote(num_cpus=1, max_retries=0)(attempt)
            waiting: dict[Any, Job] = {}
            for job in jobs:
                if len(waiting) >= self.most:
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
