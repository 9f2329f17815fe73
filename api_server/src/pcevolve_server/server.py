"""One server process: socket, app, uvicorn; the composition root."""

import logging
import signal
import socket
from collections.abc import Callable, Sequence
from types import FrameType

import uvicorn

from pcevolve_server import tracing
from pcevolve_server.engines import Opening, choice
from pcevolve_server.errors import BindError, ModelLoadError, ServerError
from pcevolve_server.http.app import create_app
from pcevolve_server.http.connections import make_protocol
from pcevolve_server.settings import Settings
from pcevolve_shared.wire import ModelInfo

logger = logging.getLogger(__name__)

_KEEP_ALIVE_SECONDS = 75
_BACKLOG = 128
"""Connections that wait to be accepted; asyncio accepts so many at once, before any is counted."""


class _Process:
    """Remembers why the model failed, and stops uvicorn for it."""

    def __init__(self) -> None:
        self.server: uvicorn.Server | None = None
        self.on_stop: Callable[[], None] = lambda: None
        self.failure: BaseException | None = None

    def fail(self, failure: BaseException) -> None:
        """Stop for a model that cannot be had; one that gives up because the process was told to stop is no failure."""
        if not self.stopping():
            self.failure = failure
        self.stop()

    def stopping(self) -> bool:
        """Return whether the process was told to stop; a model that takes long to load asks for it."""
        return self.server is not None and self.server.should_exit

    def stop(self, *_: object) -> None:
        if self.server is not None:
            self.server.should_exit = True
        self.on_stop()


class _Server(uvicorn.Server):
    """Says that it was told to stop as soon as it is; uvicorn puts its own handlers in the place of ours."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, and have those refused in time who cannot be served in time."""
        self._on_stop()
        super().handle_exit(sig, frame)


def run(settings: Settings, opening: Opening | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        opening: Loads the model; by default the one that the settings name, where they say.

    Raises:
        BindError: The address cannot be listened on.
        ModelLoadError: The model failed to load.
    """
    tracing.configure()
    process = _Process()
    listener = bind(settings.host, settings.port)
    app = create_app(
        settings,
        opening or choice.opening(settings, process.stopping),
        process.fail,
        lambda infos: _say_ready(listener, infos),
    )
    process.on_stop = app.state.parts.host.drain
    process.server = _Server(
        uvicorn.Config(
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
        ),
        process.on_stop,
    )
    # uvicorn raises the signal that stopped it once more when it is done; an orderly stop is no death.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, process.stop)
    host, port = listener.getsockname()[:2]
    logger.info("listening", extra={"host": host, "port": port, "auth": bool(settings.keys)})
    process.server.run(sockets=[listener])
    if process.failure is not None:
        raise _explain(process.failure)


def _say_ready(listener: socket.socket, infos: Sequence[ModelInfo]) -> None:
    """Tell whoever started the server that it answers now, and where."""
    logger.info("ready", extra={"url": _url(listener), "model": ", ".join(info.id for info in infos)})


def _url(listener: socket.socket) -> str:
    """Return the server's address, to be given to a client."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def bind(host: str, port: int) -> socket.socket:
    """Listen on an address, with port 0 on any free one.

    Raises:
        BindError: It cannot be had.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        why = f"{error.strerror}: choose another --port or --host"
        raise BindError(f"cannot listen on {host}:{port}: {why}") from error


def _explain(failure: BaseException) -> ServerError:
    if isinstance(failure, ServerError):
        return failure
    return ModelLoadError(f"the model failed to load: {type(failure).__name__}: {failure}")
