"""An owner's process with the network, without private files: forwards questions and answers until the run ends."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, get_args

import httpx
from pydantic import ValidationError

from pcevolve.errors import (
    ClientError,
    DeclinedError,
    KeeperGoneError,
    ProtocolError,
    StoppedError,
    UsageError,
)
from pcevolve.public.clinics import messages
from pcevolve.public.clinics.answers import SignedAnswer
from pcevolve.public.clinics.sync import BODIES, MOST_BYTES, SYNC, WAIT_SECONDS, Denied, News, Refusal, Sync
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe
from pcevolve.public.protocol import Close, Done, Finish
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.progress import Audience
from pcevolve.public.transcript.chain import MOST_BYTES as MOST_BODY_BYTES
from pcevolve.wire.asking import Remote
from pcevolve.wire.clinics.copying import Copy, publish_copy
from pcevolve.wire.egress.http_transport import find_tls_fault
from pcevolve.wire.running import report

AGAIN_SECONDS: Final = 2.0
"""Pause in seconds before an unreachable coordinator is tried again."""
_TOO_EARLY: Final = 503
"""Status of a coordinator that has no plan yet."""
_SILENT: Final = "cannot be reached"
_HANGS_UP: Final = "closes the connection (if it has a certificate, use https://)"
_MENDS: Final[dict[str, str]] = {
    "the certificate is out of date": "by this machine's clock, it has expired: correct the clock, or "
    "ask for a new certificate",
    "the certificate is another host's": "use the host name in the certificate",
    "the certificate is not trusted": "give --ca-file FILE with the authority that signed it",
    "that port speaks no TLS": "use http:// in the address, or ask the coordinator to use --certificate",
}
"""Advice for each fault of the TLS connection to the coordinator."""


class RemoteOwner(Remote):
    """The owner's private side in another process."""

    def introduce(self) -> messages.Introduced:
        return self._ask(messages.Introduce(), messages.Introduced)

    def consider(self) -> messages.Considered:
        return self._ask(messages.Consider(), messages.Considered)

    def agree(self, plan: str) -> messages.Agreed:
        return self._ask(messages.Agree(plan=plan), messages.Agreed)

    def check(self) -> None:
        self._ask(messages.Check(), messages.Checked)

    def answer(self, news: News) -> SignedAnswer:
        assert news.question is not None
        return self._ask(
            messages.Answer(question=news.question, before=news.before), messages.PaidAnswer
        ).answer

    def finish(self, figures: Mapping[str, Any]) -> None:
        self._ask(Finish(figures=figures), Done)

    def close(self) -> None:
        with suppress(ProtocolError):
            self._send(Close())


class Front:
    """An owner's connection to a coordinator's door."""

    def __init__(self, url: str, ca_file: Path | None, owner: RemoteOwner, audience: Audience) -> None:
        """Prepare the connection without opening it; ``UsageError`` for certificates that cannot be read."""
        try:
            trusted = ssl.create_default_context(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"--ca-file {ca_file} cannot be used: {error}") from None
        self._client = httpx.Client(base_url=url, verify=trusted, timeout=4 * WAIT_SECONDS)
        self._url, self._owner, self._audience = url, owner, audience
        self._who = owner.introduce()
        self._known: dict[str, Any] = {}
        self._is_missed = False
        self._waits_for: tuple[str, ...] = ()

    def sync(self, copy: Copy, **fields: object) -> News:
        """Send a message, and return the coordinator's news; keep trying while the coordinator cannot be reached.

        Raises:
            UsageError: The coordinator does not admit this owner.
        """
        word = Sync(
            version=version("pcevolve"),
            roster=self._who.roster,
            owner=self._who.owner,
            token=base64.b64encode(self._who.token),
            lines=copy.lines,
            head=copy.head,
            **{**self._known, **fields},
        )
        news = self._request(News, "POST", SYNC, word.model_dump_json().encode())
        if news.missing != self._waits_for and news.missing and not news.lines:
            self._tell(f"waiting for {', '.join(news.missing)}")
        self._waits_for = news.missing
        return news

    def fetch(self, digest: str) -> bytes:
        return self._send("GET", f"{BODIES}{digest}", {}, b"", MOST_BODY_BYTES)

    def add_to_messages(self, **fields: object) -> None:
        """Add fields to all later messages: an agreement, or the latest answer."""
        self._known.update(fields)

    def refuse(self, copy: Copy, error: ClientError) -> None:
        """Inform the coordinator that this owner stops, with the kind of reason."""
        kind = type(error).__name__
        refusal = kind if kind in get_args(Refusal) else "ClientError"
        with suppress(ClientError, httpx.HTTPError):
            word = Sync(
                version=version("pcevolve"), roster=self._who.roster, owner=self._who.owner,
                token=base64.b64encode(self._who.token), lines=copy.lines, head=copy.head, refusal=refusal,
            )  # fmt: skip
            self._client.post(SYNC, content=word.model_dump_json().encode())

    def _request(self, kind: type[News], method: str, path: str, body: bytes) -> News:
        data = self._send(method, path, {"Content-Type": "application/json"}, body, MOST_BYTES)
        try:
            return kind.model_validate_json(data)
        except ValidationError:
            raise ProtocolError(f"{self._url} is not a coordinator of this version of pcevolve") from None

    def _send(self, method: str, path: str, headers: dict[str, str], body: bytes, most: int) -> bytes:
        token = base64.b64encode(self._who.token).decode()
        headers = {**headers, "Authorization": f"{self._who.owner} {token}"}
        while True:
            try:
                with self._client.stream(method, path, headers=headers, content=body) as answer:
                    data = _read(answer, most)
                    status = answer.status_code
            except httpx.HTTPError as error:
                if fault := find_tls_fault(error):
                    raise UsageError(f"{self._url}: {fault}: {_MENDS[fault]}; nothing was read") from None
                breaks = isinstance(error, (httpx.ReadError, httpx.RemoteProtocolError))
                self._miss(_HANGS_UP if breaks and self._url.startswith("http://") else _SILENT)
            else:
                if status == httpx.codes.OK:
                    self._is_missed = False
                    return data
                if status == _TOO_EARLY:
                    self._miss("has no plan yet")
                    continue
                raise UsageError(f"{self._url} refuses this owner: {_find_why(data, status)}")

    def _miss(self, how: str) -> None:
        if not self._is_missed:
            self._tell(f"the coordinator at {self._url} {how}: trying again until it answers (Ctrl-C stops)")
        self._is_missed = True
        time.sleep(AGAIN_SECONDS)

    def _tell(self, line: str) -> None:
        self._audience.console.print(line)


def _read(answer: httpx.Response, most: int) -> bytes:
    data = b""
    for piece in answer.iter_bytes():
        data += piece
        if len(data) > most:
            raise ProtocolError("the coordinator sent more data than a record can hold")
    return data


def _find_why(data: bytes, status: int) -> str:
    try:
        return Denied.model_validate_json(data).why
    except ValidationError:
        return f"it answered with HTTP status {status}, which a coordinator never sends"


def take_part(
    front: Front, owner: RemoteOwner, copy: Copy, folder: RunFolder, audience: Audience, up: Pipe
) -> dict[str, Any]:
    """Answer until the run is over; return the finished run's summary.

    Raises:
        ClientError: The reason for an early end. Answers stay paid for, and the same command continues the
            run.
    """
    is_considered = False
    try:
        while True:
            news = front.sync(copy)
            if news.lines and copy.extend(news.lines, front.fetch) and is_considered:
                owner.check()
            if copy.has_plan and not is_considered:
                front.add_to_messages(agreement=base64.b64encode(_agree(owner, audience, up)))
                is_considered = True
            if news.question is not None:
                answer = owner.answer(news)
                front.add_to_messages(question=news.question.digest, answer=answer)
            if news.figures is not None and copy.is_closed:
                summary = publish_copy(folder)
                owner.finish(summary)
                return summary
    except KeeperGoneError:  # no refusal: the coordinator waits for this owner's return
        raise
    except ClientError as error:
        front.refuse(copy, error)
        raise


def _agree(owner: RemoteOwner, audience: Audience, up: Pipe) -> bytes:
    """Have the person asked once per plan; return the owner's signature of the plan."""
    considered = owner.consider()
    if not considered.is_agreed:
        if not audience.person.is_there():
            raise UsageError(
                "agreeing to the plan needs a terminal: run the command at a terminal, or give --yes and "
                "--max-epsilon"
            )
        if not audience.person.agrees(""):  # the parent process words the question
            raise DeclinedError("Not taking part. Nothing was spent")
    signature = owner.agree(considered.plan).signature
    up.send("begun")
    return signature


def join(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe, across: Pipe) -> None:
    """Run as an owner's process with the network."""
    owner = RemoteOwner(across)

    def go(audience: Audience) -> dict[str, Any]:
        ca_file = None if orders["ca_file"] is None else Path(orders["ca_file"])
        folder = RunFolder(Path(orders["folder"]))
        copy = Copy(folder)
        try:
            return take_part(
                Front(orders["url"], ca_file, owner, audience), owner, copy, folder, audience, up
            )
        except KeyboardInterrupt:
            raise StoppedError(
                "Stopped. Every answer given so far remains paid for. To continue, give the same command "
                "again"
            ) from None
        finally:
            copy.close()
            owner.close()

    report(go, orders, up)
