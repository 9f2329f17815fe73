"""Every option of ``pcevolve run`` as a page for docs/: ``python -m pcevolve.cli.reference > docs/options.md``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from pcevolve.public.options import Option, options_of
from pcevolve.session.settings import RunSettings

INTRODUCTION = """# Options of `pcevolve run`

This page is generated from the options' declarations: `make docs-options` writes it.

`pcevolve run --config FILE` takes the same options from a TOML file, without the dashes in front:

```toml
private = "scans"
domain = "chest X-ray"
out = "runs/first"
epsilon = "4"
```

What is given on the command line wins over the file, the file over environment variables, and those over defaults.
`--resume RUN` continues the run in that folder with the options that it began with and needs nothing else, and `--json`
prints the result as JSON.

**Public** options become part of the public plan: the provider, auditors and readers of the result may see them.
**Resume** marks options that may be different when a run is continued.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_sections()])


def _sections() -> Iterator[str]:
    """A heading and a table for each panel of the help page."""
    for panel, options in groupby(options_of(RunSettings), key=lambda option: option.setting.panel):
        yield f"## {panel.value}\n"
        yield "| option | value | default | what it does | public | resume |"
        yield "|---|---|---|---|---|---|"
        yield from (_row(option) for option in options)
        yield ""


def _row(option: Option) -> str:
    return _cells(
        f"`{option.flag}`",
        _value(option),
        "**required**" if option.required else f"`{option.default}`" if option.default else "",
        option.help + (f" Environment: `{option.setting.variable}`." if option.setting.variable else ""),
        "yes" if option.setting.public else "",
        "yes" if option.setting.resumable else "",
    )


def _value(option: Option) -> str:
    """Return what the option takes: a kind, or the choices; and its bounds."""
    kind = (
        " or ".join(f"`{choice}`" for choice in option.kind.split("|")) if "|" in option.kind else option.kind
    )
    return ", ".join(part for part in (kind or "switch", option.bounds and f"`{option.bounds}`") if part)


def _cells(*texts: str) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


if __name__ == "__main__":
    print(reference(), end="")
