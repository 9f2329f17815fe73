"""Refuse data, ledger and run that lie in each other: rights to a folder extend to all folders below it."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Literal, TypeAlias

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.files import REST
from pcevolve.public.declared import spell
from pcevolve.public.options import spell_before, spell_flag
from pcevolve.public.sources import FolderSource, parse_source

Holding: TypeAlias = Literal["data", "ledger", "run", "source", "python"]
HOLDS: dict[Holding, str] = {
    "data": "which is private",
    "ledger": "the ledger's folder, which is private",
    "run": "the run's folder, which may be shared",
    "source": "the folder of the run that it starts from",
    "python": "from which Python loads its modules",
}


@dataclass(frozen=True)
class _Place:
    """A file or folder, with its name in messages."""

    holds: Holding
    said: str
    path: Path

    def lies_in(self, other: _Place) -> bool:
        """True if this lies in the other, following links, ``..`` and mounts; missing paths are compared by name."""
        path, folder = self.path.resolve(), other.path.resolve()
        if not folder.exists():
            return path.is_relative_to(folder)
        return any(each.exists() and each.samefile(folder) for each in (path, *path.parents))


def require_apart(settings: RunConfig, key: Path | None = None) -> None:
    """Refuse data, ledger and run that lie in each other (``UsageError`` says what to move); creates nothing.

    Args:
        key: An owner's private key, protected like data.
    """
    places = [*_list_places(settings)]
    if key is not None:
        places.append(_Place("data", f"--key {key}", key))
    private = [each for each in places if each.holds in ("data", "ledger")]
    for inner, outer in (*permutations(places, 2), *product(private, _list_modules())):
        if inner.holds != outer.holds and inner.lies_in(outer):
            raise UsageError(
                f"{inner.said} lies in {outer.path}, {HOLDS[outer.holds]}: {_advise(inner, outer)}"
            )


def find_nearest(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())


def list_ledger_folders(ledger: Path) -> list[Path]:
    """Return the existing folders of a ledger's file: its own, and if it is a link, its target's."""
    found = dict.fromkeys([ledger.absolute().parent, ledger.resolve().parent])
    return [each for each in found if each.is_dir()]


def _list_places(settings: RunConfig) -> Iterator[_Place]:
    data, ledger = settings.data, settings.privacy.ledger
    yield _Place("ledger", f"the ledger {ledger}", ledger.parent)
    yield _Place("run", f"{spell_flag('out')} {settings.output.folder}", settings.output.folder)
    if data.from_run is not None:
        yield _Place("source", f"--from {data.from_run}", data.from_run)
        return
    source = parse_source(data.private)
    given = {
        "private": source.path if isinstance(source, FolderSource) else None,
        "test": None if data.test in (None, REST) else data.test,
        "unit_map": data.unit_map,
        "secrets": data.secrets,
    }
    for name, path in given.items():
        if path is not None and (name != "test" or isinstance(parse_source(str(path)), FolderSource)):
            yield _Place("data", f"{spell_before(name)}{path}", Path(path))


def _list_modules() -> Iterator[_Place]:
    """Yield the folders that any Python process may read."""
    found = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
    yield from (_Place("python", each, Path(each)) for each in sorted(found) if each != os.sep)


def _advise(inner: _Place, outer: _Place) -> str:
    if outer.holds == "ledger":
        own = outer.path / "ledger" / "ledger.sqlite"
        moving = ", and move what is of the ledger there" if any(outer.path.glob("*.key")) else ""
        return f"give the ledger a folder of its own{moving}: {spell('ledger', RunConfig)}={own}"
    if inner.holds == "run":
        return f"give {spell_flag('out')} a folder elsewhere"
    return "move it elsewhere"
