"""One JSON object per line on stderr, or a line of words if stderr is a terminal.

The log contains no prompt, image, key or exception message.
"""

import atexit
import contextlib
import json
import logging
import os
import queue
import sys
import time
import traceback
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from types import TracebackType

# Attributes of every record. All others were attached with ``extra=``.
_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}

_MOST_WAITING = 10_000  # records
_LAST_SECONDS = 1.0  # at the end of the process


class JsonFormatter(logging.Formatter):
    """Formats the server's own records in full. For a library's record, it prints only logger, level, position."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.entry(record), default=str)

    def entry(self, record: logging.LogRecord) -> dict[str, object]:
        """Return a line's facts: time, level, logger, event and, for the server's own records, the attached fields."""
        ours = record.name.startswith("pcevolve_server")
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            # A library may quote its input, so only its constant format string is printed.
            "event": record.getMessage()
            if ours
            else str(record.msg)[:200]
            if record.args
            else "library message",
        }
        if ours:
            entry |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info and record.exc_info[0]:
            entry["exception"] = record.exc_info[0].__name__
            entry["frames"] = _frames(record.exc_info[2])
        return entry


class TerminalFormatter(JsonFormatter):
    """Formats a line for a person: time of day, level if it is unusual, the event, and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        entry = self.entry(record)
        level, _, said = entry.pop("level"), entry.pop("logger"), str(entry.pop("event"))
        day = datetime.fromisoformat(str(entry.pop("time"))).astimezone()
        if said == "request":
            said = "{method} {route}: {status} in {seconds} s".format(**entry)
            # The id by which the caller may ask for help.
            entry = {"request_id": entry["request_id"]} if int(str(entry["status"])) >= 400 else {}
        if "url" in entry:
            said += f" at {entry.pop('url')}"
        if record.exc_info and record.exc_info[0]:
            del entry["exception"], entry["frames"]
            said += f": {record.exc_info[0].__name__} in {', '.join(reversed(_frames(record.exc_info[2])))}"
        fields = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in entry.items())
        words = [
            f"{day:%H:%M:%S}",
            "" if level == "info" else f"{level}:",
            said,
            f"({fields})" if fields else "",
        ]
        return " ".join(filter(None, words))


def _frames(trace: TracebackType | None) -> list[str]:
    """Return the position of an error without its messages, which may quote data."""
    frames = traceback.extract_tb(trace)[-12:]
    return [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames]


class _NeverWaiting(QueueHandler):
    """Passes records to a writing thread. Records beyond the queue's limit are lost.

    If the reader of the log stops, its full pipe must not stop the server.
    """

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Keep the exception. The formatter uses only its type."""
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        """Drop the record instead of waiting."""
        with contextlib.suppress(queue.Full):
            self.queue.put_nowait(record)


class _Writer(logging.NullHandler):
    """Writes without Python's own files and locks, for which the end of the process would wait."""

    def handle(self, record: logging.LogRecord) -> bool:
        line = f"{self.format(record)}\n".encode(errors="backslashreplace")
        with contextlib.suppress(OSError):  # nobody is there to read it
            while line:
                line = line[os.write(sys.stderr.fileno(), line) :]
        return True


_waiting: list[queue.Queue[logging.LogRecord]] = []


def flush() -> None:
    """Wait a short time until the queued lines are written."""
    deadline = time.monotonic() + _LAST_SECONDS
    while any(each.unfinished_tasks for each in _waiting) and time.monotonic() < deadline:
        time.sleep(0.01)


def configure(level: str) -> None:
    """Send every logger of the process through the formatter. A separate thread writes."""
    writer = _Writer()
    writer.setFormatter(TerminalFormatter() if sys.stderr.isatty() else JsonFormatter())
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(_MOST_WAITING)
    QueueListener(waiting, writer).start()
    _waiting.append(waiting)
    atexit.register(flush)
    logging.basicConfig(level=level.upper(), handlers=[_NeverWaiting(waiting)], force=True)
    logging.captureWarnings(True)
    # The middleware logs every request once, without its query string.
    logging.getLogger("uvicorn.access").disabled = True
    for noisy in ("httpx", "httpcore", "urllib3", "filelock", "uvicorn.error", "faiss.loader"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
