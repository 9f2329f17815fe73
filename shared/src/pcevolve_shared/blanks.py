"""Send a text back to be varied: some of its words are blanks, which a language model is asked to fill in."""

BLANK = "_"
INSTRUCTION = (
    "Fill in every blank (_) of the text below with a word of your own. "
    "Answer with the whole text and nothing else."
)


def question(prompt: str, blanked: str) -> str:
    """Return the question to a language model.

    Args:
        prompt: What the text should be, as when it was asked for first.
        blanked: The text in one line, with a ``BLANK`` for each word to be found.
    """
    return f"{prompt}\n\n{INSTRUCTION}\n{blanked}"


def parse_question(message: str) -> tuple[str, str] | None:
    """The prompt and the text with blanks of a ``question``; None for any other message."""
    prompt, found, blanked = message.partition(f"\n\n{INSTRUCTION}\n")
    return (prompt, blanked) if found else None
