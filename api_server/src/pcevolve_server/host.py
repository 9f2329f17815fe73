"""The model from start to stop. It loads in the background while the server already answers."""

import asyncio
from collections.abc import Callable, Sequence

from pcevolve_server.engines import Engine, Losable, Opening
from pcevolve_server.errors import InvalidRequestError, NotFoundError, NotReadyError, no_model
from pcevolve_server.metrics import Metrics
from pcevolve_server.queue.batcher import Batcher
from pcevolve_server.settings import Settings
from pcevolve_shared.wire import ModelInfo, Pipeline

_LOADING_RETRY_SECONDS = 5
_ENDING_SECONDS = 2.5
"""Seconds from refusing the remaining requests to the shutdown deadline. A cluster needs two seconds to end."""


class Host:
    """Owns the engine and the queue in front of the engine."""

    def __init__(
        self,
        settings: Settings,
        opening: Opening,
        metrics: Metrics,
        on_failure: Callable[[BaseException], None],
        on_ready: Callable[[Sequence[ModelInfo]], None],
    ) -> None:
        """Store the parts for :meth:`start`.

        Args:
            on_failure: Called on the event loop if ``opening`` failed, or the engine is lost.
            on_ready: Called on the event loop with each model's abilities, once the models answer.
        """
        self._on_ready = on_ready
        self._settings, self._open_engine, self._metrics = settings, opening, metrics
        self._on_failure = on_failure
        self._opening: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._serving: tuple[Engine, Batcher] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._status = "loading"

    @property
    def status(self) -> str:
        """One of ``loading``, ``ready``, ``failed`` and ``stopping``."""
        return self._status

    @property
    def infos(self) -> tuple[ModelInfo, ...]:
        """Abilities of each model, the default first.

        Raises:
            NotReadyError: No model is loaded yet.
        """
        return tuple(each.info for each in self._ready()[0].descriptions)

    def info(self, name: str | None, pipeline: Pipeline | None = None) -> ModelInfo:
        """Return a model's abilities.

        Args:
            name: An id, or its last part if that is unique. None: the first model with the pipeline.
            pipeline: The pipeline that the model must have. None: any.

        Raises:
            NotReadyError: No model is loaded yet.
            NotFoundError: There is no such model, or no model with the pipeline.
            InvalidRequestError: The named model does not have the pipeline.
        """
        infos = self.infos
        fit = [each for each in infos if pipeline is None or pipeline in each.pipelines]
        if not fit:
            raise NotFoundError(f"no model of this server has {pipeline}", code="model_not_found")
        if name is None:
            return fit[0]
        found = self._find(name)
        if found not in fit:
            raise InvalidRequestError(
                f"model: {found.id} supports {', '.join(found.pipelines)}, not {pipeline}"
            )
        return found

    def _find(self, name: str) -> ModelInfo:
        infos = self.infos
        by_id = [each for each in infos if each.id == name]
        found = by_id or [each for each in infos if each.name == name]
        if len(found) != 1:
            raise no_model(infos)
        return found[0]

    @property
    def batcher(self) -> Batcher:
        """The queue in front of the model.

        Raises:
            NotReadyError: There is no model.
        """
        return self._ready()[1]

    def start(self) -> None:
        """Start loading, and return at once."""
        self._loop = asyncio.get_running_loop()
        self._opening = asyncio.create_task(self._open())

    def begin_stopping(self) -> None:
        """Finish the accepted requests, and refuse the rest just before the process ends. Callable from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._begin_stopping)

    def _begin_stopping(self) -> None:
        if self._status != "failed":
            self._status = "stopping"
        self._metrics.ready.set(0)
        if self._serving is not None and self._loop is not None:
            left = max(0.0, self._settings.shutdown_seconds - _ENDING_SECONDS)
            self._loop.call_later(left, self._serving[1].refuse)

    async def stop(self) -> None:
        """Finish running batches, refuse waiting requests, and release the model."""
        self._begin_stopping()
        for task in (self._opening, self._watching):
            if task is not None:
                task.cancel()
        if self._serving is not None:
            engine, batcher = self._serving
            await batcher.close()
            await engine.close()

    async def _open(self) -> None:
        # gather returns any error of a model library, so that one place ends the process.
        (outcome,) = await asyncio.gather(self._open_engine(), return_exceptions=True)
        if isinstance(outcome, BaseException):
            self._fail(outcome)
            return
        self._serving = outcome, Batcher(outcome, self._metrics, self._settings, self._fail)
        if self._status == "stopping":  # told to while it loaded: stop() lets the model go
            self._serving[1].refuse()
            return
        self._status = "ready"
        self._metrics.ready.set(1)
        if isinstance(outcome, Losable):
            self._watching = asyncio.create_task(self._watch(outcome))
        self._on_ready(self.infos)

    async def _watch(self, engine: Losable) -> None:
        """End the server if an idle engine is lost, or can no longer be watched."""
        try:
            failure: BaseException = await engine.wait_for_failure()
        except Exception as error:  # noqa: BLE001 - whatever it is, a watch that ended would go unnoticed
            failure = error
        self._fail(failure)

    def _fail(self, failure: BaseException) -> None:
        """Refuse all waiting requests at once, because a failed model does not recover."""
        self._status = "failed"
        self._metrics.ready.set(0)
        if self._serving is not None:
            self._serving[1].refuse(self._not_ready)
        self._on_failure(failure)

    def _not_ready(self) -> NotReadyError:
        return NotReadyError(
            f"the model is {self._status}",
            code=self._status,
            retry_after_seconds=None if self._status == "failed" else _LOADING_RETRY_SECONDS,
        )

    def _ready(self) -> tuple[Engine, Batcher]:
        if self._serving is None or self._status == "failed":
            raise self._not_ready()
        return self._serving
