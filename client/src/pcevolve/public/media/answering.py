"""From what a language model answers to a text: its thinking is no part of it.

Models think in parts of their own (Mistral), between marks (``<think>``, ``[THINK]``, ``◁think▷``),
or in channels (OpenAI's harmony format), and servers pass on what they do not know.
"""

from __future__ import annotations

import re
from typing import Final

_SAID: Final = ("text", "output_text")
"""Kinds of parts that are said; all others are thought, refused or meant for tools."""
_NAMES: Final = "think|thinking|thought|thoughts|reasoning|seed:think"
_MARK: Final = re.compile(rf"<(/?)(?:{_NAMES})>|\[(/?)think\]|◁(/?)think▷", re.IGNORECASE)
_FINAL: Final = "<|channel|>final<|message|>"
_CHANNEL: Final = "<|channel|>"
_ENDS: Final = re.compile(r"<\|(?:end|return|call|start|im_end|eot_id)\|>")


def read_answer(content: object) -> str:
    """The text of an answer's content, without what the model thought before it wrote.

    Args:
        content: A string, or a list of parts, as an API sends it; what is neither says nothing.

    Returns:
        The string as it came where there is no thinking in it. Of thinking whose end is missing nothing is said; of one
        whose beginning is missing, for it stood in the question, what comes after it.
    """
    if isinstance(content, list):
        return read_answer("".join(filter(None, map(_read_part, content))))
    if not isinstance(content, str):
        return ""
    if _CHANNEL in content:
        _, final, text = content.rpartition(_FINAL)
        return _ENDS.split(text)[0].strip() if final else ""
    return _drop_thinking(content)


def _read_part(part: object) -> str:
    if not isinstance(part, dict) or part.get("type", "text") not in _SAID:
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _drop_thinking(text: str) -> str:
    """One pass over the marks: how many there are is the provider's choice."""
    kept: list[str] = []
    at, thinks = 0, False
    for mark in _MARK.finditer(text):
        ends = any(mark.groups())
        if ends and not thinks:
            kept.clear()
        elif not ends and not thinks:
            kept.append(text[at : mark.start()])
        at, thinks = mark.end(), not ends
    if at == 0:
        return text
    return "".join([*kept, "" if thinks else text[at:]]).strip()
