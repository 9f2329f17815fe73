"""Language models on the owner's machine that write prompts (LE), from disk alone. They get public words alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import torch

from pcevolve.errors import ModelError
from pcevolve.public.pretrained import load_pretrained

LONGEST: Final = 120
"""Tokens of an answer."""


@dataclass(frozen=True, eq=False)
class LocalWriter:
    """Answers a question as a chat API does; the same words and the same seed give the same answer on one machine."""

    network: Any = field(repr=False)
    tokenizer: Any = field(repr=False)

    @torch.inference_mode()
    def asked(self, question: str, seed: int) -> str:
        """Continue a question by ``LONGEST`` tokens at most, at temperature 1; ``ModelError`` if no room is left."""
        asked = self._spell(question)
        room = self._room(asked["input_ids"].shape[1])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            said = self.network.generate(
                **asked,
                do_sample=True,
                temperature=1.0,
                max_new_tokens=room,
                pad_token_id=self.tokenizer.eos_token_id,
            )
        behind = said[0, asked["input_ids"].shape[1] :]
        return str(self.tokenizer.decode(behind, skip_special_tokens=True))

    def _room(self, asked: int) -> int:
        """Tokens of an answer for which there is room behind so many of a question."""
        most = getattr(self.network.config, "max_position_embeddings", asked + LONGEST)
        if asked >= most:
            raise ModelError(
                f"the language model reads {most} tokens, and the question has {asked}: take another"
            )
        return int(min(LONGEST, most - asked))

    def _spell(self, question: str) -> dict[str, Any]:
        """Token ids and their mask: as a message where the model knows chats, else as text to be gone on with."""
        if self.tokenizer.chat_template is None:
            return dict(self.tokenizer(question, return_tensors="pt", return_token_type_ids=False))
        message = [{"role": "user", "content": question}]
        return dict(
            self.tokenizer.apply_chat_template(
                message, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        )


def load_writer(source: str) -> LocalWriter:
    """Load a model from a directory, or a hub's from its library's cache; nothing is downloaded, no code of it is run.

    Raises:
        ModelError: The library or the files are not at hand, or it is no such model.
    """
    who = f"language model {source}"
    return LocalWriter(
        *load_pretrained(who, source, source, "--local ", "AutoModelForCausalLM", "AutoTokenizer")
    )
