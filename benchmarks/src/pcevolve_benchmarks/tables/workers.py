"""Processes that carry out the runs of a table; one that dies costs its run alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from queue import SimpleQueue
from typing import Protocol, TypeVar

from pcevolve.errors import ClientError

Job = TypeVar("Job")
Found = TypeVar("Found")
Work = Callable[[Job], Found]
Begun = Callable[[Job], None]


class WorkerError(ClientError):
    """The process that carried out a run died."""


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
            WorkerError: It died.
        """
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=end_with_parent)
        try:
            return self._pool.submit(work, job).result()
        except BrokenProcessPool:
            self.close()
            raise WorkerError("its process died, as when memory runs out or somebody kills it") from None

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
