"""Options of a run as somebody types them: much used ones by their flags, all others by ``--set``."""

from __future__ import annotations

from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options


def spell_words(**options: object) -> list[object]:
    """The words of a command line; of several values with commas between, none for an option that is None."""
    known = {each.name: each for each in list_options(RunConfig)}
    words: list[object] = []
    for name, value in options.items():
        option = known[name]
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        if value is None:
            continue
        if name not in RunConfig.MOST_USED:
            words += ["--set", f"{option.path}={str(text).lower() if option.is_switch else text}"]
        else:
            words += [option.flag] if option.is_switch else [option.flag, text]
    return words
