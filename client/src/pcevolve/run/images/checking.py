"""What speaks against a run with images before any of them is read; imports nothing that takes long to load."""

from __future__ import annotations

from pathlib import Path

from pcevolve.errors import DataError, UsageError
from pcevolve.private.sources import (
    OF_CLASSES,
    OF_IMAGES,
    DigitsSource,
    TermsSource,
    parse_source,
    require_folder,
)
from pcevolve.public.options import flag
from pcevolve.run.settings import REST, RunSettings

OF_TEXTS_ALONE = (
    "text_column",
    "label_column",
    "unit_column",
    "secrets",
    "secret_columns",
    "detect_secrets",
)
"""Options that no run with images has, beside those that its dialect lacks."""


def require(settings: RunSettings) -> None:
    """Refuse paths of images that lead nowhere, and options that are about texts.

    Raises:
        UsageError: An option or a path is not as it must be.
        DataError: There is no such folder or file.
    """
    _require_no_texts(settings)
    source = parse_source(settings.private)
    if isinstance(source, TermsSource):
        raise UsageError(
            "--private terms are texts, and this API makes images: --dialect chat is for APIs that write"
        )
    if not isinstance(source, DigitsSource):
        _require_files(settings, source.path)
    elif settings.unit_map or settings.unlabelled or settings.subsample or settings.window:
        raise UsageError(
            "--unit-map, --unlabelled, --subsample and --window are for a folder of images, not for the digits"
        )


def _require_no_texts(settings: RunSettings) -> None:
    """Refuse an option that is about texts."""
    for name in OF_TEXTS_ALONE:
        if getattr(settings, name) not in (None, False, ()):
            raise UsageError(f"{flag(name, RunSettings)} is about texts, and this API makes images")


def _require_files(settings: RunSettings, private: Path) -> None:
    """Refuse a folder of private or held-out images, a map or weights that are not there."""
    require_folder(private, OF_IMAGES if settings.unlabelled else OF_CLASSES, "--private ")
    if settings.test not in (None, REST):
        require_folder(Path(settings.test), OF_CLASSES, "--test ")
    if settings.unit_map is not None and not settings.unit_map.is_file():
        raise DataError(f"--unit-map {settings.unit_map}: no such file")
    if settings.encoder_weights is not None and not Path(settings.encoder_weights).is_file():
        raise UsageError(f"--encoder-weights {settings.encoder_weights}: no such file")
