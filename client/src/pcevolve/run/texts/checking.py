"""What speaks against a run with texts before any of them is read; imports nothing that takes long to load."""

from __future__ import annotations

from pathlib import Path

from pcevolve.errors import UsageError
from pcevolve.private.sources import DigitsSource, TermsSource, parse_source
from pcevolve.public.options import flag
from pcevolve.run.settings import REST, RunSettings

OF_IMAGES_ALONE = ("unit_map", "engine", "window")
"""Options that no run with texts has, beside those that its dialect lacks."""


def require(settings: RunSettings) -> None:
    """Refuse paths of texts that lead nowhere, and options that are about images.

    Raises:
        UsageError: An option or a path is not as it must be.
        DataError: There is no such table or folder.
    """
    for name in OF_IMAGES_ALONE:
        if getattr(settings, name) not in (None, "local"):
            raise UsageError(f"{flag(name, RunSettings)} is about images, and this API writes texts")
    source = parse_source(settings.private)
    if isinstance(source, DigitsSource):
        raise UsageError(
            "--private digits are images, and this API writes texts: give a table or a folder of texts"
        )
    _require_secrets(settings)
    if not isinstance(source, TermsSource):
        _require_files(settings, source.path)
    elif settings.subsample or settings.unit_column or settings.unlabelled or settings.secret_columns:
        raise UsageError(
            "--subsample, --unlabelled, --unit-column and --secret-column are for your own texts, not for the terms"
        )


def _require_secrets(settings: RunSettings) -> None:
    """Refuse a list of secrets that cannot be read, or that nothing could be promised of."""
    from pcevolve.run.secrecy import declared, has_secrets, promised  # NumPy takes a moment to import

    if has_secrets(settings):
        promise = promised(settings.secret_prior, settings.secret_bound, settings.secret_size)
        declared(settings, promise)


def _require_files(settings: RunSettings, private: Path) -> None:
    """Refuse private or held-out texts, columns or weights that are not there."""
    from pcevolve.private.records import require_records  # NumPy takes a moment to import

    require_records(private, "--private ")
    if settings.secret_columns and private.is_dir():
        raise UsageError("--secret-column names a column of a table, and --private is a folder")
    if settings.encoder_weights is not None and not Path(settings.encoder_weights).is_dir():
        raise UsageError(f"--encoder-weights {settings.encoder_weights}: no such directory")
    if settings.test not in (None, REST):
        require_records(Path(settings.test), "--test ")
