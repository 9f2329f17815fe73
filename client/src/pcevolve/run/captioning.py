"""Who captions private images for GCap, from the options of a run; and who is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pcevolve.captioners import ImageCaptioner
from pcevolve.captioners.attributes import Attributes
from pcevolve.egress.retry import Patience
from pcevolve.egress.shown import ShownImages, require_near
from pcevolve.egress.transport import Address, HttpTransport
from pcevolve.errors import UsageError
from pcevolve.modality.images.arrays import levels, png, values_of
from pcevolve.modality.medium import Item
from pcevolve.public.captioning import Captioner
from pcevolve.run.progress import error_console
from pcevolve.run.settings import ATTRIBUTES, RunSettings, key_in_file

QUESTION: Final = (
    "Describe what this {domain} image shows, in one sentence of at most 40 words, so that a text-to-image model could "
    "draw another one like it. Name no person, no date, and no text that is written in it."
)


@dataclass(frozen=True)
class ChatCaptioner:
    """An ``ImageCaptioner`` that shows private images to a chat API.

    Attributes:
        described: Its model and address.
        shown: The door to it.
        question: Public words that go with every image.
    """

    described: Captioner
    shown: ShownImages
    question: str

    def captions(self, images: Sequence[Item]) -> list[str]:
        """What the API answers about each image, one by one."""
        return [self.shown.described(self.question, _file(each)) for each in images]


def captioner_of(settings: RunSettings) -> ImageCaptioner:
    """The captioner that options name.

    Raises:
        UsageError: Options do not go together, or private images would leave without a word that allows it.
        ModelError: A local model is not at hand.
    """
    require_captioner(settings)
    address, model = _address(settings), settings.captioner_model
    if address is not None and model is not None:
        return _chat(settings, address, model)
    if settings.captioner in (None, ATTRIBUTES):
        return Attributes()
    from pcevolve.captioners.model import load_captioner  # waits for torch

    return load_captioner(str(settings.captioner))


def require_captioner(settings: RunSettings) -> None:
    """Refuse options of a captioner that do not go together, before anything is read.

    Raises:
        UsageError: They do not, or private images would leave without a word that allows it.
    """
    address = _address(settings)
    if (address is None) != (settings.captioner_model is None):
        raise UsageError(
            "--captioner-model says which model a chat API shall run: it goes with --captioner https://HOST/v1"
        )
    if address is None:
        if settings.captioner_key_file or settings.send_private_images:
            raise UsageError(
                "--captioner-key-file and --send-private-images are for a captioner at an address: leave them out"
            )
        return
    require_near(address, sent_anyway=settings.send_private_images)


def _address(settings: RunSettings) -> Address | None:
    """Where the captioner is, if it is an API."""
    given = settings.captioner or ""
    if not given.startswith(("http://", "https://")):
        return None
    return Address(given, key_in_file(settings.captioner_key_file))


def _chat(settings: RunSettings, address: Address, model: str) -> ChatCaptioner:
    console = error_console()
    patience = Patience(
        settings.patience, settings.first_contact, lambda news: console.print(f"captioner: {news.told}")
    )
    sent_anyway = settings.send_private_images
    shown = ShownImages(address, model, HttpTransport(settings.timeout), patience, sent_anyway=sent_anyway)
    described = Captioner(kind="chat", name=model, at=address.base_url)
    return ChatCaptioner(described, shown, QUESTION.format(domain=settings.domain))


def _file(image: Item) -> bytes:
    """A private image as it is shown: its pixels as PNG, and nothing else of its file."""
    return png(levels(values_of(image, *image.size)))
