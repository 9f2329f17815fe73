"""Bodies as dialects write and read them. Equal calls give equal bytes, and an API's data are never trusted.

A call's form (RFC 7578) also has exactly one encoding. Its boundary is a hash of its parts, so it is as
public as the call itself. A library would choose a random boundary, so that bytes would be sent that nobody
can predict or check.
"""

from __future__ import annotations

import hashlib
import json
from codecs import getincrementaldecoder
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pcevolve.errors import ProviderReplyError, UsageError, printable
from pcevolve.public.answers import LONGEST_FAULT, parse, strip_mark
from pcevolve.public.calls import Call
from pcevolve.wire.providers.dialect import Output
from pcevolve.wire.providers.faults import read_message
from pcevolve_shared import images

Model = TypeVar("Model", bound=BaseModel)
# Long enough to recognise an API, short enough for one line: the provider chose the names.
_MOST_FIELDS, _LONGEST_FIELD = 6, 40
_SUFFIXES: Final = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}


class Reply(BaseModel):
    """The fields of an answer that are read; other fields are ignored, and errors repeat no field's value."""

    model_config = ConfigDict(hide_input_in_errors=True, allow_inf_nan=False)


JobId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""A job's name, chosen by the provider; it is sent back inside an address, so its characters are limited."""


def require_same_job(asked: str, answered: str) -> None:
    """Refuse an answer about another job than the requested one (``ProviderReplyError``)."""
    # Otherwise a provider could pass one job's result off as another's, and so choose among seeds.
    if answered != asked:
        raise ProviderReplyError("the API answered about a different job")


def encode_json(fields: Mapping[str, Any]) -> bytes:
    """Serialise canonically, so that equal calls are equal bytes."""
    # No NaN, because it is not JSON, and servers parse it differently.
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def strength_of(call: Call) -> dict[str, float]:
    """Return the strength field; empty if the plan sets no strength."""
    return {} if call.strength is None else {"strength": call.strength}


def encode_form(fields: Mapping[str, str], image: bytes | None, name: str = "image") -> tuple[str, bytes]:
    """Return content type and body of a form: text parts in order, and the file part ``image`` last."""
    parts = [_text(name, value) for name, value in fields.items()]
    if image is not None:
        # Last, so that a server has read every field before the large part begins.
        parts.append(_file(image, name))
    boundary = _boundary(parts)
    line = b"--" + boundary.encode()
    body = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    return f"multipart/form-data; boundary={boundary}", body


def parse_answer(model: type[Model], body: bytes) -> Model:
    """Validate an answer (``ProviderReplyError``, without its content, if it breaks the contract)."""
    # A byte order mark is not JSON, and some servers on Windows send one.
    body = strip_mark(body)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        # Only the first error, without its input: an answer may repeat the key or a prompt, and errors are
        # logged.
        first = error.errors(include_input=False, include_url=False)[0]
        if first["type"] == "json_invalid" and (form := _form_of(body) or _words_of(body)):
            raise ProviderReplyError(f"the API answered with {form} where JSON was expected") from None
        where = ".".join(str(part) for part in first["loc"]) or "the whole answer"
        # Only at the top level does another form mean another API; deeper it is a single wrong value.
        other = describe_other(body) if len(first["loc"]) <= 1 else ""
        raise ProviderReplyError(
            f"the API's answer breaks the contract at {where}: {first['msg']}{other}"
        ) from None


def describe_other(body: bytes) -> str:
    """Describe an answer of another API's form, and name the remedy; empty if the form is not recognised."""
    answer = parse(body)
    # A list or an empty answer has no field names by which to recognise the API.
    if isinstance(answer, list) or not answer:
        return ""
    if not isinstance(answer, dict):
        return "; it is a single value"
    names = ", ".join(printable(each)[:_LONGEST_FIELD] for each in list(answer)[:_MOST_FIELDS])
    return f"; it has the fields {names}: does the API need another --dialect?"


class _Named(Reply):
    model: str | None = None


def model_named(body: bytes) -> str | None:
    """Return the model named in an OpenAI-style answer; None without one."""
    try:
        return _Named.model_validate_json(strip_mark(body)).model
    except ValidationError:
        return None


def _form_of(body: bytes) -> str:
    """Describe an answer that is not JSON; empty if its form is unknown."""
    # By its first bytes: servers state the wrong type so often that the header is no evidence.
    start = body.lstrip()[:16].lower()
    if not start:
        return "nothing"
    if start.startswith((b"data:", b"event:")):
        return "a stream of events (SSE): turn off streaming at the API"
    if start.startswith(b"<?xml"):
        return "XML: is --api the address of the API?"
    if start.startswith(b"<"):
        return "an HTML page: is --api the address of the API?"
    if images.media_type_or_bytes(body).startswith("image/"):
        return "an image, which no dialect reads"
    try:
        getincrementaldecoder("utf-8")().decode(body[:LONGEST_FAULT])  # the cut may be inside a character
    except UnicodeDecodeError:
        return "compressed data (gzip or br), although none was requested, or text that is not UTF-8"
    if start.startswith(b"{") and b"}\n{" in body[:LONGEST_FAULT].replace(b"\r", b""):
        return "several JSON documents, one per line (a stream): turn off streaming at the API"
    return ""


def _words_of(body: bytes) -> str:
    """Quote a short plain text that came instead of JSON, made printable; empty for anything else."""
    message = read_message(body, None)
    return f"the words '{message}'" if message else ""


def decode_images(encoded: Iterable[str]) -> list[Output]:
    """Decode an answer's images; in place of an image with invalid base64, return the error."""
    return [_decode_image(each) for each in encoded]


def _decode_image(encoded: str) -> Output:
    try:
        return images.from_base64(_plain_base64(encoded))
    except images.ImageError as error:
        return ProviderReplyError(f"the API sent an image that is wrong: {error}")


_USUAL_LETTERS: Final = str.maketrans("-_", "+/")
"""Maps the URL-safe base64 alphabet (RFC 4648, section 5) to the usual one."""


def _plain_base64(text: str) -> str:
    """Normalise base64: usual alphabet, padded, without line ends and a data URL's prefix.

    Many APIs send other forms.
    """
    # Removed before decoding, because the letters of "data:image/png" are base64 as well.
    inner = text.partition(";base64,")[2] if text.startswith("data:") else text
    plain = "".join(inner.split()).rstrip("=").translate(_USUAL_LETTERS)
    return plain + "=" * (-len(plain) % 4)


def no_model(model: str, names: Iterable[str]) -> UsageError:
    """Return the error for a model that the API does not have."""
    # At most ten names, because a public API lists hundreds.
    offers = ", ".join(sorted(names)[:10]) or "none at all"
    return UsageError(f"the API has no model '{model}': it offers {offers}; choose one with --model")


def shift_seed(seed: int, most: int) -> int:
    """Map a public seed to 1..``most``, for an API where 0 means "any"."""
    # Shifted, not just replaced at 0, because different seeds of a plan should stay different.
    return seed % most + 1


def _text(name: str, value: str) -> bytes:
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()


def _file(image: bytes, stem: str) -> bytes:
    # By the bytes: the image is sent back as received, and its type follows from its bytes alone.
    kind = images.media_type_or_bytes(image)
    name = f"{stem}.{_SUFFIXES.get(kind, 'bin')}"
    head = f'Content-Disposition: form-data; name="image"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'
    return head.encode() + image


def _boundary(parts: list[bytes]) -> str:
    """Return a hash of all parts as boundary; no part contains it, because no text can contain its own hash."""
    return hashlib.sha256(b"\r\n".join(parts)).hexdigest()[:40]
