"""Load published models of the transformers library from disk. Nothing is downloaded, and no model's code is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pcevolve.errors import ModelError


def load_pretrained(who: str, source: str, hub_id: str, option: str, network: str, *others: str) -> list[Any]:
    """Load a network and its companions, such as the tokenizer.

    Args:
        source: A directory of files that were fetched before, or their hub id.
        option: Prefix of the command's option: ``--local `` or ``--set encoder.weights=``.
        network: The class of the network in transformers.
        others: The classes of the companions.

    Returns:
        The network, in eval mode and without gradients, followed by the companions.

    Raises:
        ModelError: The library or the files are missing, or the files are not such a model.
    """
    place = Path(source).expanduser()
    known = str(place) if place.is_dir() else source
    try:
        import transformers

        kinds = [getattr(transformers, each) for each in (*others, network)]
    except ImportError:
        raise ModelError(f"{who} needs the transformers library: install pcevolve[text]") from None
    try:
        found = [each.from_pretrained(known, local_files_only=True) for each in kinds[:-1]]
        main, report = kinds[-1].from_pretrained(
            known, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(
            f"{who}: neither at hand nor fetched ({type(error).__name__}): where there is a network run "
            f"'hf download {hub_id} --local-dir DIR', then pass {option}DIR"
        ) from None
    # The library initialises missing weights randomly. A missing pooler is harmless: many encoders are published
    # without one, and it is not used here.
    if lacking := sorted(each for each in report["missing_keys"] if "pooler" not in each):
        raise ModelError(
            f"{who}: {source} lacks weights for {lacking[0]} ({len(lacking)} are missing in all): fetch it again "
            "completely, or use another model"
        )
    return [main.eval().requires_grad_(requires_grad=False), *found]
