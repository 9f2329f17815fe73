"""Language models on the owner's machine that write prompts (LE).

They are read from disk, and receive public words only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import torch

from pcevolve.errors import ModelError
from pcevolve.public.encoders.pretrained import load_pretrained

LONGEST: Final = 120
"""Largest number of tokens of an answer."""


@dataclass(frozen=True, eq=False)
class LocalWriter:
    """Answers a question as a chat API does; equal words and seed give the same answer on one machine."""

    network: Any = field(repr=False)
    tokenizer: Any = field(repr=False)

    @torch.inference_mode()
    def asked(self, question: str, seed: int) -> str:
        """Continue a question by at most ``LONGEST`` tokens, at temperature 1; ``ModelError`` if no room is left."""
        asked = self._spell(question)
        room = self._room(asked["input_ids"].shape[1])
        # Forked, so that this seed does not change the process's other random numbers.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            written = self.network.generate(
                **asked,
                do_sample=True,
                temperature=1.0,
                max_new_tokens=room,
                pad_token_id=self.tokenizer.eos_token_id,
            )
        behind = written[0, asked["input_ids"].shape[1] :]
        return str(self.tokenizer.decode(behind, skip_special_tokens=True))

    def _room(self, asked: int) -> int:
        """Return how many tokens of an answer fit after a question of this length."""
        most = getattr(self.network.config, "max_position_embeddings", asked + LONGEST)
        if asked >= most:
            raise ModelError(
                f"the language model reads at most {most} tokens, but the question has {asked}: use "
                "another model"
            )
        return int(min(LONGEST, most - asked))

    def _spell(self, question: str) -> dict[str, Any]:
        """Return token ids and mask; the question is a message if the model has a chat format, else plain text."""
        if self.tokenizer.chat_template is None:
            return dict(self.tokenizer(question, return_tensors="pt", return_token_type_ids=False))
        message = [{"role": "user", "content": question}]
        return dict(
            self.tokenizer.apply_chat_template(
                message, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        )


def load_writer(source: str) -> LocalWriter:
    """Load a model from a folder, or from the hub's cache; nothing is downloaded, and no code of the model is run.

    Raises:
        ModelError: The library or the files are missing, or the model is not a language model.
    """
    who = f"language model {source}"
    return LocalWriter(
        *load_pretrained(who, source, source, "--local ", "AutoModelForCausalLM", "AutoTokenizer")
    )
