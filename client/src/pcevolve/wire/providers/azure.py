"""Azure's form of OpenAI's Images API: deployment and version in the address, the key in its own header."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.dialect import WireRequest
from pcevolve.wire.providers.openai import PlainOpenAIDialect

VERSION: Final = "2025-04-01-preview"
"""The last version with deployments in the address; later versions, at ``/openai/v1``, are OpenAI's own API."""


class AzureDialect(PlainOpenAIDialect):
    """A deployment has one model, so requests use the deployment's name as the model's name."""

    abilities = ABILITIES["azure"]
    unknown = (
        "--api must be the address of the resource, such as https://NAME.openai.azure.com. For an "
        "address that ends in /openai/v1, use --dialect openai-plain"
    )

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Encode a call as for OpenAI, with the deployment in the path."""
        asked = super().encode(plan, call, image)
        # The operation has the same name as at OpenAI; only its place in the address differs.
        operation = asked.path.removeprefix("/v1")
        # Quoted completely: a slash in a deployment's name, which is user text, would address another
        # operation.
        path = f"/openai/deployments/{quote(plan.provider.model, safe='')}{operation}?api-version={VERSION}"
        return WireRequest(asked.method, path, asked.body, asked.content_type)

    def hello(self) -> WireRequest:
        """Ask for the list of models, which is free."""
        return WireRequest("GET", f"/openai/models?api-version={VERSION}")

    def answered_by(self, body: bytes) -> str | None:
        """Return nothing: a request names the deployment, but an answer names the deployment's model."""
        return None
