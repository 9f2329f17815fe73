"""Encoders: images to embeddings, on this machine, with weights that are fixed before a run.

Every encoder is public and frozen (eval mode, no gradients). The embedding of an image depends only on the pixels of
this image, bit for bit (``singly.embed_each``). torch is loaded with the first encoder that needs it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from pcevolve.errors import ModelError, UsageError

if TYPE_CHECKING:  # who only asks for an encoder's name need not wait for NumPy and Pillow
    import numpy as np
    from numpy.typing import NDArray

    from pcevolve.public.encoders.files import PublicFrame
    from pcevolve.public.media import Item
    from pcevolve.public.modality import Kind

__all__ = [
    "BUNDLED",
    "BUNDLED_FRAMES",
    "BUNDLED_WEIGHTS",
    "CLIP_FILES",
    "CLIP_REPOSITORY",
    "ENCODERS",
    "FETCHED",
    "JOINED",
    "MOBILENET",
    "OF_SEVERAL",
    "RESNET18_FILE",
    "SHIPPED",
    "SPECTRAL",
    "TRANSFORMER",
    "VISION",
    "WORDS",
    "WORD_VECTORS",
    "Encoder",
    "bundled_digest",
    "digest_files",
    "find_embedded",
    "frame_digest",
    "has_torch",
    "load_encoder",
    "named_weights",
    "require_encoder",
    "require_torch",
    "shipped_digest",
    "weights_digest",
]

AUTO = "auto"
"""Selects a published encoder if one was fetched, and otherwise the bundled encoder."""
BUNDLED = "bundled"
BUNDLED_WEIGHTS = Path(__file__).with_name("bundled.safetensors")
WORDS = "words"
"""The bundled encoder of texts (module ``words``)."""
WORD_VECTORS = Path(__file__).with_name("words.safetensors")
JOINED = "joined"
"""The bundled encoder and a MobileNet for photographs, in one embedding (module ``joined``)."""
MOBILENET = "mobilenet"
"""The MobileNet alone (module ``mobilenet``)."""
MOBILENET_WEIGHTS = Path(__file__).with_name("mobilenet.safetensors")
SPECTRAL = "bundled+spectrum"
"""The bundled encoder with the power spectrum (``bundled.WithSpectrum``)."""
CLIP_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
"""Names that open_clip's weights may have in their repository."""
CLIP_REPOSITORY = "laion/CLIP-ViT-B-32-laion2B-s34B-b79K"
"""Repository of the weights of ``clip``. A constant, because importing open_clip would slow every run by seconds."""
RESNET18_FILE = "resnet18-f37072fd.pth"
"""File name of the weights of ``resnet18`` in torchvision's cache. A constant, because torchvision loads slowly."""
BUNDLED_FRAMES = {
    BUNDLED: Path(__file__).with_name("bundled_frame.safetensors"),
    SPECTRAL: Path(__file__).with_name("bundled_spectrum_frame.safetensors"),
    MOBILENET: Path(__file__).with_name("mobilenet_frame.safetensors"),
}
"""Public frames of the shipped encoders, from public photographs and renderings. ``client/training`` makes them."""
OF_SEVERAL = {JOINED: (BUNDLED, MOBILENET)}
"""Encoders that concatenate the embeddings of several encoders."""


@dataclass(frozen=True)
class ShippedEncoder:
    """An encoder that comes with the client.

    Attributes:
        place: Module and function that loads the encoder. The function gets the encoder's name and, if
            ``takes_weights``, the file of weights.
        files: The files of its weights.
        embeds: The kind of data that it embeds.
        takes_weights: Whether it can be loaded with other weights than its own.
    """

    place: str
    files: tuple[Path, ...]
    embeds: Kind = "image"
    takes_weights: bool = False


SHIPPED: Final = {
    BUNDLED: ShippedEncoder("bundled:load_bundled", (BUNDLED_WEIGHTS,), takes_weights=True),
    SPECTRAL: ShippedEncoder("bundled:load_bundled", (BUNDLED_WEIGHTS,), takes_weights=True),
    MOBILENET: ShippedEncoder("joined:load_mobilenet", (MOBILENET_WEIGHTS,)),
    JOINED: ShippedEncoder("joined:load_joined", (BUNDLED_WEIGHTS, MOBILENET_WEIGHTS)),
    WORDS: ShippedEncoder("words:load_words", (WORD_VECTORS,), embeds="text"),
}
"""Shipped encoders by name. ``auto`` uses the first encoder of a kind if no published encoder was fetched."""
VISION = (
    "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "inception", "vit", "vit-b32", "vit-l16", "vit-l32"
)  # fmt: skip
"""Names of the encoders that torchvision provides."""
FETCHED = ("clip", *VISION)
"""Names of the encoders whose weights must be fetched."""
ENCODERS = (*SHIPPED, *FETCHED)
"""Names of all encoders, except names with a prefix or a tag."""
DEVICES = frozenset({"auto", "cpu", "cuda", "mps"})
TRANSFORMER = "transformer:"
"""Prefix of the hub id of a published encoder of texts (``loading.TransformerEncoder``)."""


class Encoder(Protocol):
    """A fixed, public map from images to vectors. Distances between vectors are L2."""

    @property
    def name(self) -> str:
        """The name by which the encoder was loaded."""

    @property
    def dimension(self) -> int:
        """Number of entries of one embedding, d."""

    @property
    def frame(self) -> PublicFrame | None:
        """The public frame of the encoder's embeddings of public images, or None if the encoder has none."""

    def embed(self, images: Sequence[Item | None], /) -> NDArray[np.float64]:
        """Return float64 ``(images, dimension)``. Rows of unusable images are NaN.

        Args:
            images: Images of any size, or texts. ``None`` represents an undecodable candidate.
        """


def load_encoder(name: str, weights: str | None = None, device: str = "cpu") -> Encoder:
    """Load an encoder by name.

    Args:
        name: One of ``ENCODERS``, ``clip:MODEL[:TAG]`` with a model and pretrained tag of open_clip, or
            ``transformer:`` and a hub id.
        weights: Path of a state dict (safetensors, or a torch file without pickled code). By default the bundled
            file, or the library's published weights from its cache. Nothing is downloaded.
        device: A torch device, or ``auto`` for CUDA if available. The bundled encoders run on the CPU.

    Raises:
        UsageError: There is no such encoder or device.
        ModelError: The weights are missing or do not fit. The message explains where to get them.
    """
    require_encoder(name, weights)
    if device.partition(":")[0] not in DEVICES:
        raise UsageError(f"no device {device!r}: use cpu, cuda or auto")
    if name in SHIPPED:
        module, _, function = SHIPPED[name].place.partition(":")
        load = getattr(import_module(f"{__name__}.{module}"), function)
        return cast("Encoder", load(name, weights) if SHIPPED[name].takes_weights else load(name))
    require_torch(f"encoder {name}")
    from pcevolve.public.encoders import loading  # torch takes seconds to import

    return loading.load(name, weights, device)


def require_torch(what: str) -> None:
    """Raise a ``ModelError`` if torch is not installed. The bundled encoder does not need torch."""
    if not has_torch():
        raise ModelError(f"{what} needs torch, which is not installed: pip install 'pcevolve[torch]'")


def has_torch() -> bool:
    """Return True if torch is installed, without importing it."""
    return find_spec("torch") is not None


def find_embedded(name: str) -> Kind:
    """Return the kind of data that an encoder embeds."""
    if name.startswith(TRANSFORMER) and name != TRANSFORMER:
        return "text"
    return SHIPPED[name].embeds if name in SHIPPED else "image"


def weights_digest(weights: str) -> str:
    """Return the SHA-256 of a file of weights, hex, for the plan.

    For a directory, it is the SHA-256 of a list of its files' digests and names.

    Raises:
        ModelError: The file cannot be read.
    """
    folder = Path(weights).expanduser()
    if folder.is_dir():
        files = sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith("."))
        listed = "".join(f"{weights_digest(str(each))} {each.name}\n" for each in files)
        return hashlib.sha256(listed.encode()).hexdigest()
    try:
        with Path(weights).expanduser().open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"the encoder's weights {weights} cannot be read: {error.strerror}") from error


@cache
def bundled_digest() -> str:
    """Return the SHA-256 of the installed bundled encoder's weights, hex. Errors as in ``frame_digest``."""
    return _digest_of(BUNDLED_WEIGHTS, "weights are")


def named_weights(name: str, weights: str | None) -> str | None:
    """Return the digest by which a public plan identifies an encoder's weights.

    Returns:
        SHA-256, hex, of the given file or of the shipped weights, which differ between versions of the client. None for
        published weights, which the encoder's name and the version of its library identify.

    Raises:
        ModelError: The file cannot be read.
    """
    if weights is not None:
        return weights_digest(weights)
    return shipped_digest(name)


def shipped_digest(name: str) -> str | None:
    """Return the SHA-256, hex, of a shipped encoder's weights, or None for other encoders.

    Errors as in ``frame_digest``.
    """
    files = SHIPPED[name].files if name in SHIPPED else ()
    return digest_files(files) if files else None


def digest_files(paths: Sequence[Path]) -> str:
    """Return the SHA-256, hex, of a shipped file. For several files, hash their digests, one per line."""
    digests = [_digest_of(path, f"file {path.name} is") for path in paths]
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(f"{each}\n" for each in digests).encode()).hexdigest()


def frame_digest(name: str, weights: str | None) -> str | None:
    """Return the digest by which a public plan identifies an encoder's frame.

    Returns:
        SHA-256 of the file, hex, or None for an encoder without a frame.

    Raises:
        ModelError: The file is missing from the installed package.
    """
    if name not in {*BUNDLED_FRAMES, *OF_SEVERAL} or weights is not None:
        return None
    return digest_files([BUNDLED_FRAMES[each] for each in OF_SEVERAL.get(name, (name,))])


def _digest_of(path: Path, what: str) -> str:
    """Return the SHA-256 of a shipped file, hex."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise ModelError(f"encoder bundled: its {what} not installed: reinstall the client") from None


def require_encoder(name: str, weights: str | None = None) -> None:
    """Refuse an unknown encoder, or weights for an encoder that has fixed weights.

    Raises:
        UsageError: The message lists the known encoders if the encoder is unknown.
    """
    if name in SHIPPED and weights is not None and not SHIPPED[name].takes_weights:
        raise UsageError(f"encoder {name} has weights of its own and takes no others: leave weights out")
    if name.startswith(TRANSFORMER) and name != TRANSFORMER:
        return
    if name.partition(":")[0] not in ENCODERS or (":" in name and not name.startswith("clip:")):
        offers = f"{', '.join(ENCODERS)}, clip:MODEL:TAG or, for texts, {TRANSFORMER}ID"
        raise UsageError(f"no encoder {name!r}: choose one of {offers}")
