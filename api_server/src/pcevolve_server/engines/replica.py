"""A model in a process of its own, and the two ends of the pipe to that process.

Tasks and results are pickled. Only the server's process and its own child have the pipe.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import util
from multiprocessing.connection import Connection
from typing import Any

from pcevolve_server import logs
from pcevolve_server.errors import EngineLostError, GenerationError, ModelLoadError, ServerError
from pcevolve_server.models import ModelCache, ModelDescription
from pcevolve_server.work import Made, Work

_CONTEXT = multiprocessing.get_context("spawn")  # a fork would share threads and locks of the server's
_ENDING_SECONDS = 3
_LAST = -100  # others have 0 and above, as the semaphores that a library left

Load = Callable[[], ModelCache]


class DiedError(Exception):
    """Raised when the child has ended."""


class ReplicaProcess:
    """A child process with one or more models. It answers one question at a time, from any thread.

    Attributes:
        load: Loads the models.
        descriptions: Descriptions of the models, from the child's last answer.
    """

    def __init__(self, load: Load) -> None:
        """Start the process. :meth:`wait_until_open` waits for the model.

        Args:
            load: Runs in the child, so it has to be picklable.
        """
        self.load = load
        self._pipe, questions = _CONTEXT.Pipe()
        endings, self._endings = _CONTEXT.Pipe(duplex=False)
        self._beat = _CONTEXT.Value("d", 0.0, lock=False)
        self._runs, self._asked_nothing = 0, False
        self.descriptions: tuple[ModelDescription, ...] = ()
        level = logging.getLogger().level
        self._process = _CONTEXT.Process(
            target=_live, args=(load, questions, endings, self._beat, level), name="replica", daemon=True
        )
        self._process.start()
        # The child's ends are closed here. Otherwise the pipe would stay open, unnoticed, after the child's death.
        questions.close()
        endings.close()

    def wait_until_open(self) -> None:
        """Wait until the models are loaded.

        Raises:
            DiedError: The child died before it could answer.
            Exception: The error of loading.
        """
        self._answer()

    def run(self, tasks: Sequence[Work]) -> list[Made]:
        """Return the results of a batch.

        Raises:
            DiedError: The child died before it could answer, or its device failed.
            Exception: The model's error.
        """
        self._runs += 1
        self._asked_nothing, self._beat.value = False, 0.0
        with _notice_death():
            self._pipe.send((self._runs, tasks))
        outcome: list[Made] = self._answer()
        return outcome

    def pulse(self) -> float | None:
        """Return the time of the last sign of life of the child's run, on the clock ``time.monotonic``."""
        return self._beat.value or None

    def give_up(self) -> None:
        """End the run after the model's current step."""
        with contextlib.suppress(OSError):
            # The run is ended by its number, because a late call for an earlier run must not end the next run.
            self._endings.send(self._runs)

    def close(self) -> None:
        """End the child. If it waits for questions, close its pipe; otherwise kill it."""
        self._endings.close()
        # A child in the middle of a batch would answer only after minutes. A waiting child ends with its pipe.
        if self._asked_nothing:
            self._pipe.close()
            self._process.join(_ENDING_SECONDS)
        self._process.kill()
        self._process.join(_ENDING_SECONDS)  # one that hangs in its device's driver ends when that lets it
        self._pipe.close()

    def _answer(self) -> Any:  # noqa: ANN401 - whatever the child was asked for
        with _notice_death():
            outcome, self.descriptions = self._pipe.recv()
        if isinstance(outcome, EngineLostError):
            raise DiedError from outcome
        self._asked_nothing = True
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@contextlib.contextmanager
def _notice_death() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as error:
        raise DiedError from error


class _IsCancelled:
    """In the child: returns whether the current run was cancelled. Each call is a sign of life."""

    def __init__(self, endings: Connection, beat: Any) -> None:  # noqa: ANN401 - a shared number
        self._endings, self._beat, self._ended, self.run = endings, beat, 0, 0

    def __call__(self) -> bool:
        self._beat.value = time.monotonic()  # of all processes of a machine
        # Read everything that has arrived, because only the latest number counts.
        while self._endings.poll():
            self._ended = self._endings.recv()
        return self._ended >= self.run


def _live(load: Load, pipe: Connection, endings: Connection, beat: Any, level: int) -> None:  # noqa: ANN401
    """Run the child: load, and answer until the pipe closes. The pipe also closes when the server dies."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may go to the whole group; the server says when to end
        signal.signal(number, signal.SIG_IGN)
    logs.configure(logging.getLevelName(level))
    # The model runs on a second thread. The main thread receives signals and waits for tasks.
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="model") as thread:
        loading = thread.submit(load)
        if (failure := loading.exception()) is not None:
            pipe.send((_portable_error(failure, ModelLoadError), ()))
            return
        cache, is_cancelled = loading.result(), _IsCancelled(endings, beat)
        with contextlib.suppress(EOFError, OSError):
            pipe.send((None, cache.descriptions))
            while True:
                is_cancelled.run, tasks = pipe.recv()
                made = thread.submit(cache.run, tasks, is_cancelled)
                failure = made.exception()
                outcome = made.result() if failure is None else _portable_error(failure, GenerationError)
                pipe.send((outcome, cache.descriptions))
    # The process ends here, after all other work that multiprocessing does at exit. Python would need another 1.5
    # seconds to unload torch.
    util.Finalize(None, os._exit, args=(0,), exitpriority=_LAST)


def _portable_error(
    failure: BaseException, otherwise: type[ModelLoadError] | type[GenerationError]
) -> ServerError:
    """Return an error that can be pickled.

    An error of the server is returned unchanged. A library's error is reduced to its type, because its
    message may quote a prompt.
    """
    if isinstance(failure, ServerError):
        return failure
    return otherwise(f"the model failed: {type(failure).__name__}")
