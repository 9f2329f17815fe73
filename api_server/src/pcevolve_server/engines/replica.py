"""A model in a process of its own, and the two ends of the pipe to it.

Tasks and what is made are pickled, between a process and its own child, whose pipe nobody else has.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import util
from multiprocessing.connection import Connection
from typing import Any

from pcevolve_server import logs, models
from pcevolve_server.engines import ProgressCallback, no_progress
from pcevolve_server.errors import GenerationError, ModelLoadError, ServerError
from pcevolve_server.models import ModelCache, ModelDescription, Traffic
from pcevolve_server.work import Made, Work

_CONTEXT = multiprocessing.get_context("spawn")  # a fork would share threads and locks of the server's
_ENDING_SECONDS = 3
_LAST = -100  # others have 0 and above, as the semaphores that a library left

Load = Callable[[], ModelCache]


class DiedError(Exception):
    """The child is gone."""


class Replica:
    """A child process with a model or several; one question at a time, from any thread.

    Attributes:
        traffic: Of its models, as of its last answer.
        device_memory: That it holds on GPUs, as of the same.
    """

    def __init__(self, load: Load) -> None:
        """Start it; :meth:`wait_until_open` waits for the model.

        Args:
            load: Runs in the child, so it has to be picklable.
        """
        self._pipe, questions = _CONTEXT.Pipe()
        endings, self._endings = _CONTEXT.Pipe(duplex=False)
        self._runs, self._asked_nothing = 0, False
        self.traffic = Traffic()
        self.device_memory: Counter[str] = Counter()
        level = logging.getLogger().level
        self._process = _CONTEXT.Process(
            target=_live, args=(load, questions, endings, level), name="replica", daemon=True
        )
        self._process.start()
        # The child's ends are closed here, or the pipe would stay open when the child dies and nobody would notice.
        questions.close()
        endings.close()

    def wait_until_open(self) -> tuple[ModelDescription, ...]:
        """Wait for the models; return what each can do.

        Raises:
            DiedError: Before it could answer.
            Exception: What loading raised.
        """
        found: tuple[ModelDescription, ...]
        found, self.traffic, self.device_memory = self._answer()
        self._asked_nothing = True
        return found

    def run(self, tasks: Sequence[Work], on_step: ProgressCallback = no_progress) -> list[Made]:
        """Return what became of a batch.

        Args:
            on_step: Called after each step, on this thread.

        Raises:
            DiedError: Before it could answer.
            Exception: What the model raised.
        """
        self._runs += 1
        self._asked_nothing = False
        with _alive():
            self._pipe.send((self._runs, tasks))
        outcome: list[Made]
        try:
            outcome, self.traffic, self.device_memory = self._answer(on_step)
        finally:
            self._asked_nothing = True
        return outcome

    def give_up(self) -> None:
        """End the run after the model's current step."""
        with contextlib.suppress(OSError):
            # By number: a late call of an earlier run must not end the one after it.
            self._endings.send(self._runs)

    def close(self) -> None:
        """End the child: one that waits for questions by asking no more, any other by force."""
        self._endings.close()
        # A child in the middle of a batch would answer for minutes; one that waits ends when its pipe does.
        if self._asked_nothing:
            self._pipe.close()
            self._process.join(_ENDING_SECONDS)
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _answer(self, on_step: ProgressCallback = no_progress) -> Any:  # noqa: ANN401 - whatever the child was asked for
        with _alive():
            while isinstance(answer := self._pipe.recv(), _Step):
                on_step(answer.step, answer.steps)
        if isinstance(answer, Exception):
            raise answer
        return answer


@contextlib.contextmanager
def _alive() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as error:
        raise DiedError from error


@dataclass(frozen=True)
class _Step:
    """News through the pipe before an answer."""

    step: int
    steps: int


class _IsCancelled:
    """In the child: whether the current run was given up; tells which step was done."""

    def __init__(self, pipe: Connection, endings: Connection) -> None:
        self._pipe, self._endings, self._ended, self.run = pipe, endings, 0, 0

    def __call__(self, step: int = 0, steps: int = 0) -> bool:
        if step and steps:
            self._pipe.send(_Step(step, steps))
        # All that came: of several only the latest number counts.
        while self._endings.poll():
            self._ended = self._endings.recv()
        return self._ended >= self.run


def _live(load: Load, pipe: Connection, endings: Connection, level: int) -> None:
    """The child: load, and answer until the pipe closes, which it also does when the server dies."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may go to the whole group; the server says when to end
        signal.signal(number, signal.SIG_IGN)
    logs.configure(logging.getLevelName(level))
    # A thread beside, because signals and the pipe of endings are the main thread's.
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="model") as thread:
        loading = thread.submit(load)
        if (failure := loading.exception()) is not None:
            pipe.send(_portable_error(failure, ModelLoadError))
            return
        cache, is_cancelled = loading.result(), _IsCancelled(pipe, endings)
        with contextlib.suppress(EOFError, OSError):
            pipe.send((cache.descriptions, *_state(cache)))
            while True:
                is_cancelled.run, tasks = pipe.recv()
                made = thread.submit(cache.run, tasks, is_cancelled)
                failure = made.exception()
                pipe.send(
                    (made.result(), *_state(cache))
                    if failure is None
                    else _portable_error(failure, GenerationError)
                )
    # Last of all that multiprocessing does in the end: Python would take torch apart for another second and a half.
    util.Finalize(None, os._exit, args=(0,), exitpriority=_LAST)


def _state(cache: ModelCache) -> tuple[Traffic, Counter[str]]:
    """Return what the child tells of itself with each answer."""
    return cache.traffic, models.gpu_memory()


def _portable_error(
    failure: BaseException, otherwise: type[ModelLoadError] | type[GenerationError]
) -> ServerError:
    """One of our own errors, which can travel; of a library's the type alone, for its message may quote a prompt."""
    if isinstance(failure, ServerError):
        return failure
    return otherwise(f"the model failed: {type(failure).__name__}")
