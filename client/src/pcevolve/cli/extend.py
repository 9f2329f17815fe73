"""``pcevolve extend``: more variations of a finished run's dataset."""

from __future__ import annotations

from typing import Annotated

import typer

from pcevolve.cli.options import Json, RunFolder, given, require_run, takes
from pcevolve.cli.run import show
from pcevolve.public.options import Option, Panel
from pcevolve.session.settings import RunSettings


def _reaches(option: Option) -> bool:
    """Whether an option says how the run's API is reached, or what may be spent there."""
    return option.setting.resumable and option.setting.panel is Panel.API


@takes(RunSettings, only=_reaches)
def extend(
    folder: RunFolder,
    more: Annotated[int, typer.Option(min=1, max=1000, help="Variations of each released image.")],
    strength: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Image-to-image strength; the run's last if not given."),
    ] = None,
    *,
    as_json: Json = False,
    **options: object,
) -> None:
    """Ask for more variations of what a finished run released; no privacy budget is spent."""
    require_run(folder)
    from pcevolve.session.finished import extension

    show(extension.extend(extension.Asked.of(folder, more, strength, given(options))), as_json)
