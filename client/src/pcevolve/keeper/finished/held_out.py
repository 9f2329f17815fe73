"""Check that held-out data were not private data of the run: data that voted cannot test the selection."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from pcevolve.errors import DataError
from pcevolve.keeper.ledger.ledger import Ledger
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private_data import tell_on_screen
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.selectors import find_method
from pcevolve.public.transcript.reader import RunReader

NAMED = 10
"""Largest number of files that the screen names."""


def find_origin(folder: RunFolder) -> RunFolder:
    """Return the run that read private data.

    A run may start from another run's release. The result is then that other run, if its folder exists; otherwise it
    is the given run.
    """
    options = OwnerFolder.of(folder.root).find_options()
    start = None if options is None else options.data.from_run
    return folder if start is None or not start.is_dir() else find_origin(RunFolder(start))


def has_voted(plan: PublicPlan) -> bool:
    """True if a plan's encoder took part in selecting the dataset, or the release that the dataset varies."""
    before = () if plan.start is None else plan.start.events
    return find_method(plan.method.name).queries_data or not all(event.free for event in before)


def find_private(folder: RunFolder, plan: PublicPlan, digests: Sequence[bytes]) -> list[int] | None:
    """Return the indices of items that are among a run's private data, by the ledger's fingerprints.

    Returns:
        None if that is unknown. Either the run's ledger is missing or does not list the run, or the run
        whose release this one starts from is missing.
    """
    if not has_voted(plan):
        return []
    if plan.start is not None:
        origin = find_origin(folder)
        before = None if origin == folder else RunReader.lenient(origin.root).plan
        return None if before is None or before.start is not None else find_private(origin, before, digests)
    options = OwnerFolder.of(folder.root).find_options()
    if options is None or not options.privacy.ledger.exists():
        return None
    with closing(Ledger(options.privacy.ledger, create=False, waiting=OwnerScreen().print)) as known:
        return known.find_private(plan.run_id, digests)


def require_held_out(
    test: PrivateDataset, private: PrivateDataset | None, folder: RunFolder, plan: PublicPlan, where: str
) -> str:
    """Refuse held-out data that contain a private item.

    A private item voted, or judges are trained on it, so results on it would flatter the dataset.

    The items are named on the owner's screen only.

    Returns:
        A description of what could not be checked; empty if all was checked.

    Raises:
        DataError: An item is among the run's private data, or those of ``--private``.
    """
    voted = find_private(folder, plan, test.digests)
    own = set() if private is None else {*private.digests}
    places = sorted({*(voted or ()), *(place for place, each in enumerate(test.digests) if each in own)})
    if places:
        names = [test.names[place] for place in places if test.names]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        tell_on_screen(f"{where}: {len(places)} of {len(test)}: {', '.join(names[:NAMED])}{more}")
        raise DataError(
            f"{where}: part of these data are private data of the run, which selected the dataset, so the "
            "accuracy on them says nothing about other data: give data that the run has not used"
        )
    return (
        ""
        if voted is not None
        else "not checked, because the run's ledger is not on this machine: "
        "whether the test data include private data of the run"
    )
