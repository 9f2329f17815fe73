"""The errors that the server raises on purpose.

An error of a request is answered in the contract's format. Any other error ends the process with its exit code.
Messages are sent to callers and written to logs, so no message contains a prompt, an image or a key.
"""

from collections.abc import Sequence
from typing import ClassVar, Self

from pcevolve_shared.wire import ErrorType, ModelInfo


class ServerError(Exception):
    """The base class. ``exit_code`` is the process's exit code if the error reaches the command line."""

    exit_code: ClassVar[int] = 1


class SettingsError(ServerError):
    """A setting is impossible or unsafe."""

    exit_code = 2


class ModelLoadError(ServerError):
    """The model is missing or unreadable, or of a kind that cannot be served."""

    exit_code = 3


class DeviceMemoryError(ModelLoadError):
    """The model's device has no memory for one image."""


class BindError(ServerError):
    """The address is in use, or does not belong to this machine."""

    exit_code = 4


class RequestError(ServerError):
    """An error that ends one request. The server continues."""

    status: ClassVar[int]
    type: ClassVar[ErrorType]
    default_code: ClassVar[str]

    def __init__(
        self, message: str, *, code: str | None = None, retry_after_seconds: int | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.code = message, code or self.default_code
        self.retry_after_seconds = retry_after_seconds


class InvalidRequestError(RequestError):
    """The request breaks the contract, or exceeds this model's abilities."""

    status, type, default_code = 422, "invalid_request_error", "invalid_request"


class ContentRejectedError(InvalidRequestError):
    """The safety checker refused the image and every retry."""

    default_code = "content_rejected"


class MemoryExceededError(InvalidRequestError):
    """The device has too little memory for one image of this size. Repeating the request does not help."""

    default_code = "device_memory"


def too_many_pixels(most: int) -> MemoryExceededError:
    """Return an error with the number of pixels for which the device has memory."""
    return MemoryExceededError(
        f"width, height: the device has too little memory for an image of this size: request at most {most} pixels"
    )


class AuthenticationError(RequestError):
    """The key is missing or wrong."""

    status, type, default_code = 401, "authentication_error", "invalid_api_key"


class OriginError(RequestError):
    """A page of another origin made a browser send requests to a server without a key."""

    status, type, default_code = 403, "invalid_request_error", "origin_not_allowed"


class NotFoundError(RequestError):
    """The address does not exist."""

    status, type, default_code = 404, "invalid_request_error", "not_found"


def no_model(infos: Sequence[ModelInfo]) -> NotFoundError:
    """Return an error that lists the models of this server."""
    known = ", ".join(info.id for info in infos)
    return NotFoundError(f"unknown model; this server has {known}", code="model_not_found")


class MethodError(RequestError):
    """The route exists, but not for this method."""

    status, type, default_code = 405, "invalid_request_error", "method_not_allowed"


class TooSlowError(RequestError):
    """The body did not arrive in time."""

    status, type, default_code = 408, "invalid_request_error", "request_timeout"


class TooLargeError(RequestError):
    """The body is longer than the contract allows."""

    status, type, default_code = 413, "invalid_request_error", "request_too_large"


class HostError(RequestError):
    """The Host header names neither this machine nor a configured name."""

    status, type, default_code = 421, "invalid_request_error", "host_not_allowed"


class BusyError(RequestError):
    """The queue or the memory for request bodies is full."""

    status, type, default_code = 429, "rate_limit_error", "queue_full"


class GenerationError(RequestError):
    """The model failed on this request. The server continues."""

    status, type, default_code = 500, "server_error", "generation_failed"


class NotFiniteError(GenerationError):
    """The model's output is not finite. Repeating the request does not help."""

    status, default_code = 422, "not_finite"

    def __init__(self) -> None:
        super().__init__("the model's output is not finite: serve it with --precision bfloat16 or float32")

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        """Pickle without arguments, because the error travels between processes."""
        return type(self), ()


class NotReadyError(RequestError):
    """The model is loading, or the server is stopping."""

    status, type, default_code = 503, "server_error", "not_ready"


class EngineLostError(NotReadyError):
    """The engine is lost for good. The process ends with this error, and its supervisor restarts it."""

    default_code, exit_code = "failed", 3


class DeadlineError(RequestError):
    """The images were not done within a request's time limit."""

    status, type, default_code = 503, "server_error", "deadline"


class CrowdedError(RequestError):
    """All allowed connections are in use."""

    status, type, default_code = 503, "server_error", "too_many_connections"


class AbandonedError(RequestError):
    """The caller closed the connection while its request was waiting."""

    status, type, default_code = 499, "invalid_request_error", "client_closed_request"
