"""The owner's part of a run: ``runs/RUN_ID`` in the folder of its ledger, outside the run's shareable folder.

A run's folder can be given away unchanged. The run's options cannot, because they hold paths, names and seeds,
and ``--resume`` reads them. Measurements on private data cannot be given away either. If the run does not use the
default ledger, the default ledger's folder gets a link to this folder.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.files import find_ledger
from pcevolve.public.config.options import spell_flag
from pcevolve.public.durable import set_owners_mode, write_private_bytes
from pcevolve.public.transcript.chain import PLANNED, Link, read_chain
from pcevolve.public.transcript.layout import RunLayout, not_a_run

RUNS: Final = "runs"
_RUN_ID: Final = re.compile(r"[0-9a-f]{32}")
"""The pattern is checked because the id names a folder here, and comes from a record that another process wrote."""


@dataclass(frozen=True)
class OwnerFolder:
    """The owner's part of one run. The folder is created with its first file.

    Attributes:
        run: The run's folder.
        record: SHA-256, hex, of the record up to its plan; empty before there is a plan. The digest is needed
            because an id alone could be copied.
    """

    root: Path
    run: Path
    record: str = ""

    @classmethod
    def of(cls, run: Path, ledger: Path | None = None) -> Self:
        """Find the owner's part of a run: beside the given ledger if it is there, otherwise beside the default ledger.

        The process with the network writes the record, and could give it another run's id. The owner's part of that
        other run is never returned.

        Raises:
            TranscriptError: The run's record cannot be read, or holds no run.
            UsageError: The folder found belongs to another run with the same id.
        """
        found = cls._look(run, ledger)
        if found._bound not in ("", found.record):
            raise UsageError(
                f"{found.root} holds the options and figures of another run, whose id {run} bears as well: it "
                "is a copy that was continued separately, or was made by somebody who knows the id; "
                "remove one of the two"
            )
        return found

    @classmethod
    def _look(cls, run: Path, ledger: Path | None) -> Self:
        run_id, record = _identify(run)
        if not _RUN_ID.fullmatch(run_id):
            raise TranscriptError(not_a_run(run, "its record has no id"))
        usual = find_ledger().parent
        places = [each / RUNS / run_id for each in ([] if ledger is None else [ledger.parent]) + [usual]]
        root = next((each for each in places if each.is_dir()), places[0]).resolve()
        return cls(root, run, record)

    @classmethod
    def find(cls, run: Path, ledger: Path | None = None) -> Self | None:
        """Like ``of``, but None without a record, or if the record has no plan and a copy of it was continued."""
        log = RunLayout(run).log
        if not (log.exists() and any(True for _ in read_chain(log.parent))):
            return None
        found = cls._look(run, ledger)
        return None if found._bound and not found.record else cls.of(run, ledger)

    @property
    def config(self) -> Path:
        """File with the options that the run began with."""
        return self.root / "options.json"

    @property
    def result(self) -> Path:
        """File with the summary for the owner, which includes accuracy on private data."""
        return self.root / "result.json"

    @property
    def evaluation(self) -> Path:
        """File with accuracies on the owner's test data."""
        return self.root / "evaluation.json"

    @property
    def use_page(self) -> Path:
        """Page on the dataset's usefulness, as measured by judges."""
        return self.root / "useful.html"

    @property
    def judgement(self) -> Path:
        """File with the measurements of ``pcevolve evaluate`` on the owner's data."""
        return self.root / "judgement.json"

    def require_options(self) -> RunConfig:
        """Return the options that the run began with (``UsageError`` if they are missing)."""
        if not self.config.exists():
            raise UsageError(
                f"the options that {self.run} began with are not in {self.root}, where they lie beside its ledger: "
                f"restore them, or name that ledger with {spell_flag('ledger')}"
            )
        options = RunConfig.load(self.config)
        # The ledger's folder may have been moved together with this folder.
        beside = self.root.parent.parent / options.privacy.ledger.name
        moved = not options.privacy.ledger.exists() and beside.exists()
        return options.changed(ledger=beside) if moved else options

    def find_options(self) -> RunConfig | None:
        """Return the options that the run began with; None if they are missing."""
        return self.require_options() if self.config.exists() else None

    def keep_options(self, settings: RunConfig) -> None:
        """Save the options with which a run begins or resumes, and call ``link``."""
        self._make()
        settings.save(self.config)
        self.link()

    def link(self) -> None:
        """Link to this folder from the default ledger's folder. A confined keeper is not allowed to create links."""
        usual = find_ledger().parent / RUNS / self.root.name
        # If the link cannot be made, the user has to name the ledger in later commands.
        with suppress(OSError):
            if not usual.exists():
                usual.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                usual.unlink(missing_ok=True)
                usual.symlink_to(self.root)

    def bind(self) -> Self:
        """Save the digest of the record that this folder belongs to, once the plan is fixed."""
        record = _identify(self.run)[1]
        write_private_bytes(self.root / "record", record.encode())
        return type(self)(self.root, self.run, record)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Lock the folder while figures are written (``UsageError`` if another process holds the lock)."""
        self._make()
        if not self._bound and self.record:
            self.bind()
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"another process measures {self.run}: wait for it to end") from None
            yield
        finally:
            os.close(descriptor)

    def forget(self) -> None:
        """Remove the files of a run that never fixed its plan."""
        if self._bound:  # a run was continued from a copy of this folder
            return
        shutil.rmtree(self.root, ignore_errors=True)
        usual = find_ledger().parent / RUNS / self.root.name
        if usual.is_symlink() and not usual.exists():
            usual.unlink()

    def _make(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.root.parent, self.root):
            set_owners_mode(folder)

    @property
    def _bound(self) -> str:
        try:
            return (self.root / "record").read_text()
        except OSError:
            return ""


def find_run_id(run: Path) -> str:
    """Return the id that the record in a run's folder states; empty if there is none."""
    first = next(read_chain(RunLayout(run).transcript), None)
    return "" if first is None else _run_id(first)


def _identify(run: Path) -> tuple[str, str]:
    """Return the run's id, and the digest of its record up to the plan; the digest is empty without a plan."""
    run_id = ""
    for link in read_chain(RunLayout(run).transcript):
        run_id = run_id or _run_id(link)
        if link.kind == PLANNED:
            return run_id, link.digest
    return run_id, ""


def _run_id(link: Link) -> str:
    return str(link.line.event.get("run_id", ""))
