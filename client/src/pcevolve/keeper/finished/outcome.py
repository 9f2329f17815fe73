"""A finished run, with the private side's parts: for who measures it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pcevolve.keeper.components import Components
from pcevolve.public.evolution import Evolved
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    folder: RunFolder
    components: Components
    plan: PublicPlan
    evolved: Evolved
    summary: dict[str, Any]

    @property
    def owner(self) -> OwnerFolder:
        """What of it is for its owner alone."""
        return OwnerFolder.of(self.folder.root, self.components.settings.privacy.ledger)
