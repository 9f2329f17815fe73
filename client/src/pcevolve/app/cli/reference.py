"""Write all options as a page for readers, as a table for the command line, and as keywords for editors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from pcevolve.app.first.pricing import PlannedRun
from pcevolve.auditing.dp_audit.claim import AuditedClaim
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options
from pcevolve.public.config.options import Option
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.config.table import FILE, write_table

INTRODUCTION = """# Options of `pcevolve run`

Generated from the options' declarations by `make docs-options`.

An option is given in a configuration file (`pcevolve init` writes one), in the environment, by `--set`, or by a flag
if it has one. The later of these wins:

```toml
# pcevolve run --config pcevolve.toml
[privacy]
epsilon = "4"
delta = 1e-6
```

```
PCEVOLVE_PRIVACY__DELTA=1e-6
pcevolve run --epsilon 4 --set privacy.delta=1e-6
```

In Python the last word of an option is a keyword: `pcevolve.evolve(epsilon=4)`. Exceptions are `method`, `encoder`,
`encoder_weights` and `out`. Values are separated by commas: `--set method.strengths=0.8,0.6`.

Brackets show an option's value and default. Without a default, method, API or data decide. Options of one method are
refused with another. *Local* options are not part of the public plan. *Resume* options may change when a run is
continued.
"""


def write_reference() -> str:
    """Return the text of the page."""
    return "\n".join([INTRODUCTION, *_sections()])


def _sections() -> Iterator[str]:
    for section, options in groupby(list_options(RunConfig), key=lambda option: option.section):
        yield f"## {section}\n"
        yield from (_entry(option) for option in options)
        yield ""


def _entry(option: Option) -> str:
    """Return an option's line: path, flag, meaning and, in brackets, value, default and marks."""
    flag = f" `{option.flag}`" if option.has_flag else ""
    default = "**required**" if option.required else f"default `{option.default}`" if option.default else ""
    marks = ["local"] * (not option.setting.public) + ["resume"] * option.setting.resumable
    variable = f" Environment: `{option.setting.variable}`." if option.setting.variable else ""
    methods = f"Of {', '.join(option.methods)}. " if option.methods else ""
    facts = "; ".join(part for part in (_value(option), default, *marks) if part)
    return f"- `{option.path}`{flag}: {methods}{option.help}{variable}" + (f" ({facts})" if facts else "")


def _value(option: Option) -> str:
    """Return the choices of an option's value, or its type, and its bounds; empty if any text is a value."""
    kind = ", ".join(f"`{choice}`" for choice in option.choices) if option.choices else option.kind
    if kind == "text" or (kind == "number" and option.bounds):
        return f"`{option.bounds}`" if option.bounds else ""
    return ", ".join(part for part in (kind or "switch", option.bounds and f"`{option.bounds}`") if part)


HEAD = '''"""Keywords of ``pcevolve.evolve`` and ``pcevolve.plan``, one per option, generated from the declarations.

``make docs-options`` writes this file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias, TypedDict

AnyPath: TypeAlias = str | os.PathLike[str]
Exact: TypeAlias = float | str | Fraction


class RunOptions(TypedDict, total=False):
    """All options of a run except the parameters of ``evolve``; docs/options.md explains each."""
'''
OF_A_PLAN = '''

class PlanOptions(TypedDict, total=False):
    """All options of ``plan`` except the method; ``pcevolve budget plan --help`` explains each."""
'''
NAMED = frozenset({"private", "domain", "epsilon", "out", "api", "dialect", "model", "api_key_file"})
"""Options that are parameters of ``evolve`` or of its ``Provider``."""
TYPES = {"int": "int", "number": "float", "path": "AnyPath", "text": "str"}
PATHS = frozenset({"test", "prompts", "encoder_weights"})
"""Text options that are paths, or names of public data."""
EXACT = frozenset({"lifetime_epsilon", "epsilon", "noise_multiplier"})


def write_keywords() -> str:
    """Return the text of the module."""
    run = [option for option in list_options(RunConfig) if option.name not in NAMED]
    planned = [option for option in list_options(PlannedRun) if option.name != "method"]
    return "\n".join([HEAD, *map(_keyword, run), OF_A_PLAN, *map(_keyword, planned), ""])


def _keyword(option: Option) -> str:
    none = " | None" if not (option.default or option.is_switch or option.is_repeated) else ""
    return f"    {option.name}: {_type(option)}{none}"


def _type(option: Option) -> str:
    if option.is_switch:
        return "bool"
    if option.name in EXACT:
        return "Exact"
    if option.name in PATHS:
        return "AnyPath"
    words = ", ".join(f'"{each}"' for each in option.choices)
    if option.name == "words":
        return "Mapping[str, str] | AnyPath"
    one = f"Literal[{words}]" if words else TYPES[option.kind]
    return f"Sequence[{one}]" if option.is_repeated else one


KEYWORDS = Path(__file__).parents[1] / "interface" / "options.py"


def make_table() -> str:
    """Return the text of ``config/options.json``."""
    public = {each.path for each in list_options(PublicConfig)}
    run = [replace(each, private=each.path not in public) for each in list_options(RunConfig)]
    return write_table(
        {"run": run, "budget plan": list_options(PlannedRun), "audit-dp": list_options(AuditedClaim)}
    )


if __name__ == "__main__":
    FILE.write_text(make_table(), "utf-8")
    KEYWORDS.write_text(write_keywords(), "utf-8")
    Path("docs/options.md").write_text(write_reference(), "utf-8")
