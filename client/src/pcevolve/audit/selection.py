"""Derives every choice again from what was measured and paid for, and from the provider's images.

A choice that does not follow from the measurement could say anything about the private images. The encoder has to be
at hand: it is public, as its weights are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from safetensors import SafetensorError
from safetensors.numpy import load as parsed
from safetensors.numpy import save

from pcevolve import methods
from pcevolve.audit.populations import Populations
from pcevolve.encoders import Encoder, load_encoder, weights_digest
from pcevolve.errors import ModelError
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.selectors import SELECTORS, Measurement
from pcevolve.selectors.choosing import Chooser, renditions_of
from pcevolve.selectors.scene import joined_scenes
from pcevolve.transcript import RunReader

LoadEncoder = Callable[[PublicPlan], Encoder]
"""Finds the encoder that a plan names; raises a ClientError where it cannot be had."""


def encoder_of(plan: PublicPlan, weights: str | None = None) -> Encoder:
    """The encoder that a plan names.

    Args:
        plan: Names it, and the digest of its weights if the owner gave a file of them.
        weights: That file.

    Raises:
        ModelError: The weights are not at hand, or not those of the run.
    """
    if plan.weights is None:
        return load_encoder(plan.encoder)
    if weights is None or weights_digest(weights) != plan.weights:
        raise ModelError(
            f"choices cannot be derived again without the encoder's weights: give --encoder-weights FILE, the one with "
            f"sha256 {plan.weights}"
        )
    return load_encoder(plan.encoder, weights)


@dataclass
class Selections:
    """All choices of a run.

    Attributes:
        run: The record.
        load: Finds the encoder.
        room: Bits that rounding leaves to a forger in what was derived; known once ``faults`` was asked.
    """

    run: RunReader
    load: LoadEncoder
    room: int = 0

    def faults(self) -> Iterator[str]:
        """Receipts whose choices do not follow from what was measured.

        Raises:
            ModelError: The encoder's weights are not at hand, so nothing can be said.
        """
        plan = self.run.plan
        method = None if plan is None else methods.method(plan.method)
        if plan is None or method is None or method.selector is None or not self.run.finished:
            return
        asked = [each for each in self.run.receipts if each.iteration]
        selector = SELECTORS[method.selector]()
        yield from self._derived(plan, Chooser(plan, self.load(plan), self.run.bodies.file, selector), asked)

    def _derived(self, plan: PublicPlan, chooser: Chooser, receipts: list[Receipt]) -> Iterator[str]:
        """Go through the receipts in order: a free choice follows from the last measurement before it."""
        looks = renditions_of(plan, next((each for each in self.run.receipts if not each.iteration), None))
        populations = Populations(plan, self.run.outputs)
        measured: Measurement | None = None
        for receipt in receipts:
            where = f"receipt for iteration {receipt.iteration}"
            pool = populations.pool(receipt.iteration)
            scenes = chooser.scenes(receipt.iteration, pool, looks)
            if receipt.measured:
                measured = self._measured(receipt.measured)
                shown = joined_scenes(scenes)
                bits = (
                    None
                    if measured is None
                    else chooser.selector.rounding_bits(measured, shown, receipt.events)
                )
                if bits is None:
                    yield f"{where}: what was measured has not the form that its method gives"
                    return
                self.room += bits
            if measured is None or not chooser.follows(measured, scenes, pool, receipt):
                yield f"{where}: its choices do not follow from what was measured"

    def _measured(self, digest: str) -> Measurement | None:
        """A measurement in its one spelling; None for anything else."""
        data = self.run.bodies.file(digest)
        try:
            found = parsed(data)
        except (SafetensorError, ValueError, KeyError):
            return None
        return found if save(dict(found)) == data else None
