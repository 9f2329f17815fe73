"""Locate a model's files without importing a model library, so that a missing file is reported at once."""

from collections import Counter
from collections.abc import Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from huggingface_hub import constants, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError

from pcevolve_server.errors import ModelLoadError, SettingsError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_shared import limits

BUNDLED = "bundled"
BUNDLED_TEXT = "bundled_text"
"""Folder of the bundled language model, whose name is text:bundled."""
LIBRARY = "library:"
"""Prefix of a library's directory."""
CLIP_CONFIG = "open_clip_config.json"
"""File that describes a text-image model in its directory."""
TEXT = "text:"
"""Prefix of a language model's directory or hub id."""
_SAFE = ".safetensors"
_CHECKPOINTS = (_SAFE, ".ckpt", ".pt", ".pth", ".bin")
"""Suffixes of files with all weights of a model."""


def check(settings: ModelSettings) -> None:
    """Fail early if loading by the model libraries would fail anyway.

    Raises:
        ModelLoadError: The directory does not exist, or a hub id is not cached and must not be downloaded.
    """
    if is_library(settings.model):
        library_folder(settings.model)
        if settings.library_clip:
            if find_spec("open_clip") is None:
                raise ModelLoadError("--library-clip needs open_clip: pip install 'pcevolve-server[clip]'")
            place = locate(settings.library_clip)
            _require_at_hand(place, "text-image model", CLIP_CONFIG, settings.offline)
        return
    if is_bundled_text(settings.model):
        return
    if is_checkpoint(settings.model):
        if Path(locate(settings.model)).suffix != _SAFE and not settings.allow_pickle:
            raise ModelLoadError(
                f"cannot load the model {settings.model}: it is not a {_SAFE} file, so reading it"
                " could run code: if you trust its author, add --allow-pickle"
            )
        return
    file = "config.json" if is_text(settings.model) else "model_index.json"
    _require_at_hand(locate(settings.model.removeprefix(TEXT)), "model", file, settings.offline)


def _require_at_hand(source: str, what: str, file: str, offline: bool) -> None:
    """Refuse a hub id without a cached ``file`` if the hub must not be used."""
    if Path(source).is_dir() or not (offline or constants.HF_HUB_OFFLINE):
        return
    try:
        cached = try_to_load_from_cache(source, file)
    except HFValidationError as error:
        raise ModelLoadError(explain_failure(source, what, error)) from error
    if not isinstance(cached, str):
        raise ModelLoadError(
            explain_failure(source, what, FileNotFoundError("not cached, and the hub is off"))
        )


def check_names(settings: Sequence[ModelSettings]) -> None:
    """Refuse models with the same name.

    Raises:
        SettingsError: Two models have the same name.
        ModelLoadError: A directory does not exist.
    """
    names = Counter(identify(each) for each in settings)
    for name, count in names.items():
        if count > 1:
            raise SettingsError(
                f"{count} models would be called {name}: leave one out, or rename its directory"
            )


def is_library(name: str) -> bool:
    return name.startswith(LIBRARY)


def is_text(name: str) -> bool:
    return name.startswith(TEXT)


def is_bundled_text(name: str) -> bool:
    return name == TEXT + BUNDLED


def is_checkpoint(name: str) -> bool:
    """True if a name from the command line is the path of a single file of weights."""
    return not (is_library(name) or is_text(name)) and Path(name).expanduser().is_file()


def library_folder(name: str) -> Path:
    """Return the directory of a library.

    Raises:
        ModelLoadError: There is no such directory.
    """
    path = Path(name.removeprefix(LIBRARY)).expanduser()
    if name == LIBRARY or not path.is_dir():
        raise ModelLoadError(f"there is no directory {path} to serve images from: write library:DIR")
    return path


def locate(name: str) -> str:
    """Return the directory, checkpoint or hub id that a name from the command line denotes.

    Raises:
        ModelLoadError: The name can only be a directory or a file, and neither exists.
    """
    if name in (BUNDLED, BUNDLED_TEXT):
        return str(resources.files("pcevolve_server") / name)
    path = Path(name).expanduser()
    if path.is_dir():
        return str(path)
    if path.is_file():
        if path.suffix not in _CHECKPOINTS:
            raise ModelLoadError(
                f"{name} is a file, but not a file with a model's weights: {', '.join(_CHECKPOINTS)}"
            )
        return str(path)
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.suffix in _CHECKPOINTS:
        what = "file" if path.suffix in _CHECKPOINTS else "directory"
        raise ModelLoadError(f"there is no {what} {name}")
    return name


def explain_failure(name: str, what: str, error: Exception) -> str:
    """Return the message about a ``what`` that cannot be loaded, for the server's operator."""
    reason = " ".join(str(error).split())[:300]
    if name == BUNDLED or Path(name).expanduser().exists():
        return f"cannot load the {what} {name}: {reason}"
    return (
        f"cannot load the {what} {name}: it is neither a local directory nor in the local cache, and could not"
        f" be fetched from the hub. On a machine with network access run `hf download {name} --local-dir DIR`"
        f" (older: `huggingface-cli download {name} --local-dir DIR`), then pass DIR instead of {name}."
        f" Cause: {type(error).__name__}: {reason}"
    )


def identify(settings: ModelSettings) -> str:
    """Return the model's id in requests."""
    if settings.model_id:
        return settings.model_id
    if is_library(settings.model):
        name = library_folder(settings.model).resolve().name or "library"
        return (LIBRARY + name.encode(errors="replace").decode())[: limits.MAX_NAME_CHARS]
    if is_bundled_text(settings.model):
        return "bundled-text"
    name = settings.model.removeprefix(TEXT)
    path = Path(name).expanduser()
    if is_checkpoint(name):
        return path.stem
    return folder_name(path.resolve()) if path.is_dir() else name


def folder_name(path: Path) -> str:
    """Return the name of a model's directory. In the hub's cache, return the model's id instead of its revision."""
    owner, *rest = path.parent.parent.name.split("--")
    return "/".join(rest) if path.parent.name == "snapshots" and owner == "models" and rest else path.name
