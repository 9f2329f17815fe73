"""Keys of those who may use the server, and the file that they are read from."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from pcevolve_server.errors import SettingsError
from pcevolve_shared.reading import open_file

API_KEY_VARIABLE = "PCEVOLVE_SERVER_API_KEY"
MIN_KEY_CHARS = 16
_LONGEST_KEY_FILE = 2**20
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Key:
    """A caller who may use the server.

    Attributes:
        secret: What they send.
        name: What logs call them; keys of different names take turns at the model.
    """

    secret: str = field(repr=False)
    name: str = "default"

    def __post_init__(self) -> None:
        """Refuse what can be guessed.

        Raises:
            SettingsError: Too short.
        """
        if len(self.secret) < MIN_KEY_CHARS or not self.secret.isascii():
            raise SettingsError(f"an API key must have at least {MIN_KEY_CHARS} ASCII characters")
        if not _NAME.fullmatch(self.name):
            raise SettingsError("an API key's name has 1 to 64 letters, digits, '.', '_' or '-'")


def read_keys(path: Path | None, environment: str) -> tuple[Key, ...]:
    """Return the keys in ``path`` if given, else the one in the environment's value, if any.

    A line of the file is a key, or a name and a key; empty lines and those that begin with # are skipped.

    Raises:
        SettingsError: Both are given, a key or its name is unfit or twice there, or the file is missing, empty or
            readable by others.
    """
    if path is None:
        return (Key(environment.strip()),) if environment.strip() else ()
    if environment:
        raise SettingsError(f"both {API_KEY_VARIABLE} and --api-key-file are set: choose one")
    lines = (line.split() for line in _secret_text(path).splitlines())
    keys = tuple(_key(words) for words in lines if words and not words[0].startswith("#"))
    if not keys:
        raise SettingsError(f"the API key file {path} is empty")
    if any(len({getattr(key, each) for key in keys}) < len(keys) for each in ("name", "secret")):
        raise SettingsError(f"the API key file {path} has a name or a key twice: 'NAME KEY' in each line")
    return keys


def _key(words: list[str]) -> Key:
    match words:
        case [secret]:
            return Key(secret)
        case [name, secret]:
            return Key(secret, name)
    raise SettingsError("a line of the API key file holds more than a name and a key")


def _secret_text(path: Path) -> str:
    try:
        with open_file(path, _LONGEST_KEY_FILE) as file:
            status = os.fstat(file.fileno())
            text = file.read(_LONGEST_KEY_FILE).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the API key file {path}: {type(error).__name__}") from error
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise SettingsError(f"the API key file {path} is accessible to others: chmod 600 it")
    return text
