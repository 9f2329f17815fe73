"""One server process: connects socket, app and uvicorn."""

import atexit
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import uvicorn

from pcevolve_server import logs, tracing
from pcevolve_server.engines import Opening, choice
from pcevolve_server.errors import BindError, ModelLoadError, ServerError
from pcevolve_server.http.app import create_app
from pcevolve_server.http.connections import make_protocol
from pcevolve_server.settings import Settings

logger = logging.getLogger(__name__)

_KEEP_ALIVE_SECONDS = 75
_FAILING_SECONDS = 5.0
"""Time for answers to waiting callers after the model failed. After this time the process ends."""
_STALL_SECONDS = 60.0
"""Time without any progress after which the kernel closes a connection. A slow peer keeps its connection."""
_BACKLOG = 128
"""Largest number of connections waiting to be accepted. asyncio accepts all of them at once, before one is counted."""


class _Server(uvicorn.Server):
    """A server that stops in order and in time.

    First it stops being ready. Then it closes the listener. At the deadline the process ends, even if requests are
    running.
    """

    def __init__(self, config: uvicorn.Config, settings: Settings, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._settings, self._on_stop = settings, on_stop
        self._closes_at: float | None = None
        self.failure: BaseException | None = None

    def stopping(self) -> bool:
        """True if the process has to stop. A model that takes long to load checks this."""
        return self._closes_at is not None

    def fail(self, failure: BaseException) -> None:
        """Stop after the model failed. An error that the stopping itself caused is no failure."""
        if not self.stopping():
            self.failure = failure
        self._leave(0.0, _FAILING_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop. A second signal, or Ctrl-C, closes the listener at once."""
        waits = sig == signal.SIGTERM and not self.stopping()
        self._leave(self._settings.drain_seconds if waits else 0.0, self._settings.shutdown_seconds)

    def _leave(self, listen_seconds: float, most_seconds: float) -> None:
        first, self._closes_at = not self.stopping(), time.monotonic() + listen_seconds
        if first:
            # A thread, because the event loop itself may hang.
            deadline = threading.Timer(most_seconds, self._end)
            deadline.daemon = True
            deadline.start()
            self._on_stop()

    async def on_tick(self, counter: int) -> bool:
        """Close the listener when the drain time is over."""
        if self._closes_at is not None and time.monotonic() >= self._closes_at:
            self.should_exit = True
        return await super().on_tick(counter)

    def _end(self) -> None:
        logger.warning("the shutdown time is over: running requests are ended")
        for child in multiprocessing.active_children():
            child.kill()
        self.exit()

    def exit(self) -> None:
        """End the process here. Python would need seconds to unload torch, perhaps beyond a supervisor's deadline."""
        logs.flush()
        sys.stdout.flush()
        os._exit(0 if self.failure is None else _explain(self.failure).exit_code)


def run(settings: Settings, opening: Opening | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        opening: Loads the model. The default is the model of the settings, on their engine.

    Raises:
        BindError: The server cannot listen on the address.
        ModelLoadError: The model failed to load.
        EngineLostError: The model's device or cluster failed.
    """
    tracing.configure()
    listener = bind(settings.host, settings.port)
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    # Server and app need each other.
    server: _Server
    app = create_app(
        settings,
        opening or choice.opening(settings, lambda: server.stopping()),
        lambda failure: server.fail(failure),
        lambda infos: logger.info("ready", extra={"url": url, "model": ", ".join(info.id for info in infos)}),
    )
    config = uvicorn.Config(
        app,
        http=make_protocol(settings.max_connections, settings.header_seconds),
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    server = _Server(config, settings, app.state.parts.host.begin_stopping)
    atexit.register(server.exit)  # before whatever is imported later registers: it comes last
    for number in (signal.SIGTERM, signal.SIGINT):  # also before uvicorn hears of them
        signal.signal(number, server.handle_exit)
    logger.info("listening", extra={"host": host, "port": port, "auth": bool(settings.keys)})
    try:
        server.run(sockets=[listener])
    except BaseException as error:
        server.failure = server.failure or error
        raise
    if server.failure is not None:
        raise _explain(server.failure)


def bind(host: str, port: int) -> socket.socket:
    """Listen on an address. Port 0 takes any free port.

    Raises:
        BindError: The address cannot be used.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        why = f"{error.strerror}: choose another --port or --host"
        raise BindError(f"cannot listen on {host}:{port}: {why}") from error
    # Connections inherit both options. uvicorn writes head and body of an answer separately: without TCP_NODELAY,
    # the body would wait 40 ms for the peer's delayed acknowledgement of the head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux alone has it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * _STALL_SECONDS))
    return listener


def _explain(failure: BaseException) -> ServerError:
    if isinstance(failure, ServerError):
        return failure
    return ModelLoadError(f"the model failed to load: {type(failure).__name__}: {failure}")
