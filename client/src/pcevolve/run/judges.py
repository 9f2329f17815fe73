"""Who judges a dataset: encoders with a new head each, and judges that can never have voted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from pcevolve.encoders import BUNDLED, WORDS, Encoder, load_encoder
from pcevolve.encoders.choice import PREFERRED, is_fetched, resolved
from pcevolve.encoders.pixels import pixel_array
from pcevolve.evaluation.heads import CNN_SIDE, QUICK_STEPS, train_cnn, train_linear, untrained_cnn
from pcevolve.evaluation.judge import Features, Judge
from pcevolve.evaluation.ngrams import hashed_ngrams
from pcevolve.evaluation.protocol import train_papers_head
from pcevolve.modality.medium import Item
from pcevolve.public.modalities import Kind

CNN = "cnn"
"""A small network that is trained on the pixels from scratch; it never voted."""
NGRAMS = "ngrams"
"""Hashed words and pairs of words of texts; they never voted either."""


def judges_of(names: Iterable[str], voter: str | None, device: str, kind: Kind = "image") -> list[Judge]:
    """Load judges, each with the head of the PCEvolve paper; those that did not vote come first.

    Args:
        names: ``cnn``, or encoders as ``NAME`` or ``NAME=WEIGHTS``; none: ``cnn`` and all that are at hand.
        voter: The encoder by which the run selected; None if it looked at nothing.
        device: Of encoders.
        kind: Of what is judged; of texts the judges are ``ngrams`` and encoders of texts.

    Raises:
        UsageError: There is no such encoder, or it is for another kind.
        ModelError: Weights are not at hand.
    """
    usual = [NGRAMS, WORDS] if kind == "text" else [*filter(is_fetched, PREFERRED), CNN, BUNDLED]
    found = [_judge(name, voter, device, kind) for name in dict.fromkeys(list(names) or usual)]
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
    if kind == "text":
        never, known = Judge(NGRAMS, voted=False, look=hashed_ngrams, train=train_linear), [WORDS]
    else:
        quick = partial(train_cnn, steps=QUICK_STEPS)
        never = Judge(CNN, voted=False, look=_pixels, train=quick, untrained=untrained_cnn)
        known = [*filter(is_fetched, PREFERRED), BUNDLED]
    strangers = [name for name in known if not _same(name, encoder.name)][:1]
    heads = [Judge(name, False, load_encoder(name, None, device).embed, train_linear) for name in strangers]
    return [never, *heads, Judge(encoder.name, voted, encoder.embed, train_linear)]


def _judge(name: str, voter: str | None, device: str, kind: Kind) -> Judge:
    if name == NGRAMS and kind == "text":
        return Judge(NGRAMS, voted=False, look=hashed_ngrams, train=train_papers_head)
    if name == CNN and kind == "image":
        return Judge(CNN, voted=False, look=_pixels, train=train_cnn, untrained=untrained_cnn)
    named, _, weights = name.partition("=")
    encoder = load_encoder(resolved(named, kind)[0], weights or None, device)
    voted = voter is not None and _same(named, voter)
    return Judge(name, voted, encoder.embed, train_papers_head)


def _same(first: str, second: str) -> bool:
    """Whether two names are of one encoder, with or without its views."""
    return first.partition("+")[0] == second.partition("+")[0]


def _pixels(images: Iterable[Item | None]) -> Features:
    return pixel_array(list(images), CNN_SIDE)
