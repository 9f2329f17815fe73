"""Options of the API that makes images or texts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pcevolve.public import requests
from pcevolve.public import settings as public
from pcevolve.public.config.options import OWN, Setting

KEY_VARIABLE = "PCEVOLVE_API_KEY"
"""Name of the environment variable that may contain the API's key."""
DAY = 86400.0
"""Longest time that an option may set, in seconds. Nobody waits longer, and every clock can represent this time."""
Seconds = Annotated[float, Field(ge=0, le=DAY, allow_inf_nan=False)]
MaxCost = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False, description="Limit on the run's cost, in the provider's currency."),
    Setting(resumable=True),
]
Price = Annotated[
    float,
    Field(
        ge=0,
        allow_inf_nan=False,
        description="Cost of one image or text, for an API that does not report its prices.",
    ),
    Setting(resumable=True),
]


class PublicProvider(requests.TextSettings[None], requests.ImageSettings, requests.ProviderSettings[None]):
    """The API, the settings of its model, and limits on its cost."""

    api_key_file: Annotated[
        public.AbsolutePath | None,
        Field(
            description="File with the API key. Its mode must be 600. The key may also be set in the "
            f"environment variable {KEY_VARIABLE}."
        ),
        Setting(resumable=True),
    ] = None
    max_cost: MaxCost | None = None
    price: Price | None = None
    max_requests: Annotated[
        int | None,
        Field(ge=1, description="Limit on the number of requests of the run, including retries."),
        Setting(resumable=True),
    ] = None
    yes: Annotated[
        bool,
        Field(
            description=(
                "Start without asking for confirmation, even if the run is doubtful. Without a terminal, "
                "a doubtful run starts only with this option."
            )
        ),
        Setting(resumable=True),
    ] = False
    size: Annotated[
        requests.Pixels | None,
        Field(
            description="Width and height of the images in pixels. Default: the model's native size, or 512."
        ),
        Setting(public=True, needs="size"),
    ] = None
    greeting: Annotated[
        bool,
        Field(
            description="Begin with the request GET /v1/models. Set false for an API that does not have it."
        ),
        OWN,
    ] = True
    ca_file: Annotated[
        public.AbsolutePath | None,
        Field(description="PEM file of the only certificate authority to trust for the API's certificate."),
        OWN,
    ] = None
    proxy: Annotated[
        str | None,
        Field(description="Proxy for an https API, such as http://proxy:3128; HTTPS_PROXY is not used."),
        OWN,
    ] = None
    timeout: Annotated[
        float,
        Field(gt=0, le=DAY, allow_inf_nan=False, description="Seconds to wait for one answer."),
        Setting(resumable=True),
    ] = 600.0
    patience: Annotated[
        Seconds,
        Field(description="Seconds for which one request is retried."),
        Setting(resumable=True),
    ] = 300.0
    first_contact: Annotated[
        Seconds,
        Field(description="Seconds to wait for the API to become available at the start of a run."),
        Setting(resumable=True),
    ] = 10.0
