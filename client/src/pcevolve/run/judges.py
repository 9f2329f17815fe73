"""Who judges a dataset: encoders with a new head each, and judges that can never have voted."""

from __future__ import annotations

from collections.abc import Iterable

from pcevolve.encoders import Encoder, load_encoder
from pcevolve.encoders.choice import resolved
from pcevolve.evaluation.heads import train_linear
from pcevolve.evaluation.judge import Judge
from pcevolve.evaluation.protocol import train_papers_head
from pcevolve.public.modalities import Kind
from pcevolve.run.kinds import of_kind


def judges_of(names: Iterable[str], voter: str | None, device: str, kind: Kind = "image") -> list[Judge]:
    """Load judges, each with the head of the PCEvolve paper; those that did not vote come first.

    Args:
        names: The kind's stranger, which is ``cnn`` of images and ``ngrams`` of texts, or encoders as ``NAME`` or
            ``NAME=WEIGHTS``; none: the stranger and all encoders that are at hand.
        voter: The encoder by which the run selected; None if it looked at nothing.
        device: Of encoders.
        kind: Of what is judged.

    Raises:
        UsageError: There is no such encoder, or it is for another kind.
        ModelError: Weights are not at hand.
    """
    asked = list(names) or of_kind(kind).judging.usual()
    found = [_judge(name, voter, device, kind) for name in dict.fromkeys(asked)]
    return sorted(found, key=lambda each: each.voted)


def quick_judges(encoder: Encoder, voted: bool, device: str, kind: Kind = "image") -> list[Judge]:
    """Who judges a run as soon as it has ended: those that did not vote first, the run's own encoder last.

    Whatever the dataset's size, a head takes 400 steps and the network from scratch 100, so that a run's end is
    not the longest part of it; ``judges_of`` takes as long as it takes.

    Args:
        encoder: The run's own.
        voted: Whether the run selected by it.
        device: Of another encoder, if one is at hand.
        kind: Of what is judged.

    Raises:
        ModelError: Weights of another encoder that was fetched cannot be read.
    """
    own = of_kind(kind).judging
    strangers = [name for name in own.encoders() if not _same(name, encoder.name)][:1]
    heads = [Judge(name, False, load_encoder(name, None, device).embed, train_linear) for name in strangers]
    return [own.quick_stranger(), *heads, Judge(encoder.name, voted, encoder.embed, train_linear)]


def _judge(name: str, voter: str | None, device: str, kind: Kind) -> Judge:
    own = of_kind(kind).judging
    if name == own.STRANGER:
        return own.stranger()
    named, _, weights = name.partition("=")
    encoder = load_encoder(resolved(named, kind)[0], weights or None, device)
    voted = voter is not None and _same(named, voter)
    return Judge(name, voted, encoder.embed, train_papers_head)


def _same(first: str, second: str) -> bool:
    """Whether two names are of one encoder, with or without its views."""
    return first.partition("+")[0] == second.partition("+")[0]
