"""Private images before a chat API that says what they show (GCap): the only place from which they leave as they are.

The gate has no part in it: what it lets out is on record and may be shared, and private images may be neither. So this
door is a narrow one of its own. Nothing in a run leads to it but ``--method gcap --not-private`` with an address for a
captioner; it takes images for one host, and that is this machine or a private address unless the owner says otherwise
by a further option. Decision 50 has the reasons.
"""

from __future__ import annotations

import base64

from pcevolve.egress.chat import ChatApi
from pcevolve.egress.retry import Patience
from pcevolve.egress.transport import Address, Transport
from pcevolve.errors import UsageError

FAR = (
    "the captioner at {host} is neither this machine nor at a private address, and would be sent the private images "
    "themselves: run one here, or say --send-private-images if whoever runs it may have them"
)


def require_near(address: Address, *, sent_anyway: bool) -> None:
    """Refuse to show private images to a captioner that is far away.

    Args:
        address: Where it is. Only names and numbers that are written there count, nothing is looked up.
        sent_anyway: Whether the owner said that it may be anywhere.

    Raises:
        UsageError: It is far away, and nobody said so.
    """
    if not (address.is_nearby or sent_anyway):
        raise UsageError(FAR.format(host=address.base_url))


class ShownImages:
    """A chat API with eyes.

    Args:
        address: Where; its path ends before ``/chat/completions``.
        model: Which; as the API calls it.
        transport: To the network.
        patience: How long it is asked again while it is busy or away.
        sent_anyway: Whether the owner said that it may be anywhere.

    Raises:
        UsageError: It is far away, and nobody said that it may be.
    """

    def __init__(
        self, address: Address, model: str, transport: Transport, patience: Patience, *, sent_anyway: bool
    ) -> None:
        require_near(address, sent_anyway=sent_anyway)
        self._api, self._model = ChatApi(address, transport, patience), model

    def __repr__(self) -> str:
        """Nothing about the images."""
        return "ShownImages"

    def described(self, question: str, png: bytes) -> str:
        """The model's answer to a question about one image.

        Args:
            question: Public text.
            png: The private image.

        Raises:
            ProviderUnreachableError: No usable answer came.
            ProviderRefusedError: The API said no.
            ProviderReplyError: The answer is none of a chat API.
        """
        url = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        content = [{"type": "text", "text": question}, {"type": "image_url", "image_url": {"url": url}}]
        body = {"model": self._model, "messages": [{"role": "user", "content": content}]}
        return self._api.answered(body)
