"""Derives every choice again from what was measured and paid for, and from the provider's images.

A choice that does not follow from the measurement could say anything about the private images. The encoder has to be
at hand: it is public, as its weights are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from safetensors import SafetensorError
from safetensors.numpy import load as parsed
from safetensors.numpy import save

from pcevolve import selectors
from pcevolve.auditing.rerun import Rerun
from pcevolve.encoders import Encoder, load_encoder, shipped_digest, weights_digest
from pcevolve.errors import ClientError, ModelError
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.public.usefulness import Assessment
from pcevolve.selectors import Measurement
from pcevolve.selectors.choosing import Chooser, choose_renditions, find_frame
from pcevolve.selectors.scene import join_scenes
from pcevolve.selectors.usefulness import assess, count_rounding_bits
from pcevolve.transcript import RunReader

LoadEncoder = Callable[[PublicPlan], Encoder]
"""Finds the encoder that a plan names; raises a ClientError where it cannot be had."""


def find_encoder(plan: PublicPlan, weights: str | None = None) -> Encoder:
    """Find the encoder that a plan names, with the very weights and public frame that judged the run.

    ``weights`` is a file of them, where the owner gave one.

    Raises:
        ModelError: Weights or frame are not at hand, or not those of the run; the text says which they are.
    """
    encoder = _with_weights(plan, weights)
    # The frame too: the same weights in another frame would choose otherwise.
    find_frame(plan, encoder)
    return encoder


def _with_weights(plan: PublicPlan, weights: str | None) -> Encoder:
    ours = shipped_digest(plan.encoder)
    if plan.weights == ours:
        return load_encoder(plan.encoder)
    if weights is not None and weights_digest(weights) == plan.weights:
        return load_encoder(plan.encoder, weights)
    raise ModelError(
        f"the run was judged by weights of encoder {plan.encoder} with sha256 {plan.weights or 'unknown'}: give "
        f"--encoder-weights FILE with them{_of_other_versions(plan)}"
    )


def _of_other_versions(plan: PublicPlan) -> str:
    """Add advice on a bundled encoder, whose weights may be those of another version of the client."""
    ours = shipped_digest(plan.encoder)
    return (
        "" if ours is None else f", or audit with the version of pcevolve that has them (this one has {ours})"
    )


@dataclass
class Selections:
    """All choices of a run; ``room`` has the bits that rounding leaves to a forger, once ``faults`` was asked."""

    run: RunReader
    again: Rerun
    load: LoadEncoder
    room: int = 0

    def why_unchecked(self) -> str:
        """Say why choices cannot be checked: the encoder that made them is not at hand; empty if it is."""
        try:
            _ = self._chooser
        except ModelError as error:
            return str(error)
        except ClientError:  # a record that makes no sense is for ``faults`` to tell
            return ""
        return ""

    def faults(self) -> Iterator[str]:
        """Receipts whose choices do not follow from what was measured; ``ModelError`` without the encoder's weights."""
        chooser, broken = self._chooser, False
        if chooser is not None:
            asked = [each for each in self.run.receipts if each.iteration]
            for fault in self._derive(chooser.plan, chooser, asked):
                broken = True
                yield fault
        if not broken:  # of what is no measurement, nothing follows
            yield from self._check_assessment(chooser)

    @cached_property
    def _chooser(self) -> Chooser | None:
        """Chooses as a finished run did, with its encoder; None where no selector looked at embeddings."""
        plan = self.run.plan
        if plan is None or not selectors.find_method(plan.method).queries_data or not self.run.finished:
            return None
        selector = selectors.find_method(plan.method).make_selector()
        return Chooser(plan, self.load(plan), self.run.bodies.file, selector)

    def _derive(self, plan: PublicPlan, chooser: Chooser, receipts: list[Receipt]) -> Iterator[str]:
        """Go through the receipts in order: a free choice follows from the last measurement before it."""
        looks = choose_renditions(
            plan, next((each for each in self.run.receipts if not each.iteration), None)
        )
        measured: Measurement | None = None
        for receipt in receipts:
            where = f"receipt for iteration {receipt.iteration}"
            pool = self.again.pools.get(receipt.iteration)
            if pool is None:  # the record breaks off before, which is told elsewhere
                return
            scenes = chooser.scenes(receipt.iteration, pool, looks)
            if receipt.measured:
                measured = self._decode(receipt.measured)
                shown = join_scenes(scenes)
                bits = (
                    None
                    if measured is None
                    else chooser.selector.count_rounding_bits(measured, shown, receipt.events)
                )
                if bits is None:
                    yield f"{where}: what was measured has not the form that its method gives"
                    return
                self.room += bits
            if measured is None or not chooser.follows(measured, scenes, pool, receipt):
                yield f"{where}: its choices do not follow from what was measured"

    def _check_assessment(self, chooser: Chooser | None) -> Iterator[str]:
        """Check if what the closing line says of the dataset's use follows from what was released."""
        bits = count_rounding_bits(self.run.assessment, None if chooser is None else self._assess(chooser))
        if bits is None:
            closed = self.run.closed
            where = f"line {len(self.run.entries) if closed is None else closed.line}"
            yield f"{where}: what it says of the dataset's use does not follow from what was released"
        else:
            self.room += bits

    def _assess(self, chooser: Chooser) -> Assessment | None:
        evolved, again = self.again.evolved, self.again
        if evolved is None:
            return None
        stored = self.run.bodies.file
        return assess(chooser, self.run.receipts, again.pools.__getitem__, evolved.kept, stored)

    def _decode(self, digest: str) -> Measurement | None:
        """A measurement in its one spelling; None for anything else."""
        data = self.run.bodies.file(digest)
        try:
            found = parsed(data)
        except (SafetensorError, ValueError, KeyError):
            return None
        # Saved again and compared: a file with a comment or another order of arrays says more than its numbers.
        return found if save(dict(found)) == data else None
