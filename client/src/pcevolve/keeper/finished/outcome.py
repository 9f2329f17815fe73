"""A finished run with the components of the private side, for evaluation."""

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
    folder: RunFolder
    components: Components
    plan: PublicPlan
    evolved: Evolved
    summary: dict[str, Any]

    @property
    def owner(self) -> OwnerFolder:
        """The owner's part of the run."""
        return OwnerFolder.of(self.folder.root, self.components.settings.privacy.ledger)
