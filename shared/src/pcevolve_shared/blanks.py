"""Ask a language model to vary a text: some words are replaced by blanks, which the model fills in."""

BLANK = "_"
INSTRUCTION = (
    "Fill in every blank (_) of the text below with a word of your own. "
    "Answer with the whole text and nothing else."
)


def question(prompt: str, blanked: str) -> str:
    """Return the question to a language model.

    Args:
        prompt: The prompt of the first request, which describes the text.
        blanked: The text in one line, with a ``BLANK`` for each missing word.
    """
    return f"{prompt}\n\n{INSTRUCTION}\n{blanked}"


def parse_question(message: str) -> tuple[str, str] | None:
    """Return the prompt and the blanked text of a ``question``. Return None for any other message."""
    prompt, found, blanked = message.partition(f"\n\n{INSTRUCTION}\n")
    return (prompt, blanked) if found else None
