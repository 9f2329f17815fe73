"""Texts: their settings and traits."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, ClassVar, Literal, Never, Self

from pydantic import model_validator

from pcevolve.errors import UsageError
from pcevolve.public import requests
from pcevolve.public.config.declared import settled
from pcevolve.public.modality.base import UNASKED, Advice, Described, Modality, ModelSize, Nouns
from pcevolve.public.settings import Form

if TYPE_CHECKING:
    from pcevolve.public.config.providers import PublicProvider


@settled
class Texts(Modality, requests.TextSettings[Never]):
    """Settings of requests for texts."""

    nouns: ClassVar[Nouns] = Nouns("text", "texts", "a text")
    medium: ClassVar[str] = "texts:TEXTS"
    verb: ClassVar[str] = "write"
    template: ClassVar[str] = "Write one {domain} about {label}."
    unlabelled_template: ClassVar[str] = "Write one {domain}."
    sends_inline: ClassVar[bool] = True
    from_tables: ClassVar[bool] = True
    refuses_looks: ClassVar[str] = "appearance: texts have none, so they are taken as-is"
    refuses_sheets: ClassVar[str] = "has texts: --html shows them side by side"
    retry_hint: ClassVar[str] = "more provider.tokens for a model that thinks before it writes"
    other_provider: ClassVar[str] = (
        "this provider does not write about your classes: try another language model, or class names and a domain "
        "that say what the texts are about; a larger epsilon does not help"
    )
    # A dataset of general texts with only a few texts of the domain is as far away as a dataset of another domain.
    far_unlike: ClassVar[float | None] = 0.7
    forms: ClassVar[tuple[Form, ...]] = ("parquet", "webdataset", "jsonl", "csv")
    unused_fields: ClassVar[frozenset[str]] = frozenset({"data.window", "method.appearance"})
    independent_classifier: ClassVar[str] = "ngrams"

    kind: Literal["text"]

    @model_validator(mode="after")
    def _temperature_is_sent(self) -> Self:
        if (self.temperature is None) != ("temperature=" in self.fields):
            raise ValueError(
                "temperature: it is said of a request whose fields leave it out, or the other way round"
            )
        return self

    @classmethod
    def settle(
        cls, asked: PublicProvider, size: ModelSize, advice: Advice | None, taken: AbstractSet[str]
    ) -> dict[str, object]:
        """Return tokens and temperature, and the field names given by the user or implied by the model's name."""
        fields = requests.choose_fields(asked.fields, asked.model)
        if "temperature=" in fields and asked.temperature is not None:
            raise UsageError(
                "provider.temperature: this API takes none (provider.fields): leave one of the two out"
            )
        usual = None if "temperature=" in fields else requests.USUAL_TEMPERATURE
        return {
            "kind": "text",
            "tokens": asked.tokens or requests.USUAL_TOKENS,
            "temperature": usual if asked.temperature is None else asked.temperature,
            "fields": fields,
        }

    def spelled(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Rename the fields of a request for the API, and omit fields that it does not accept."""
        names = dict(each.split("=", 1) for each in self.fields)
        return {names.get(name, name): value for name, value in fields.items() if names.get(name, name)}

    def describe(self) -> Described:
        """Describe length and temperature, and the fields that are renamed or omitted."""
        settings: Described = [
            ("Tokens of a text, at most", self.tokens),
            ("Temperature", UNASKED if self.temperature is None else self.temperature),
        ]
        return settings + [("Fields of a request", ", ".join(self.fields))] * bool(self.fields)

    def describe_asking(self, degrees: str, advice: str) -> str:
        """Describe length, temperature and blanks; APIs recommend none of them."""
        blanks = f", blanks {degrees}" if degrees else ""
        temperature = (
            "the API's own temperature" if self.temperature is None else f"temperature {self.temperature:g}"
        )
        return f"at most {self.tokens} tokens, {temperature}{blanks}"

    def describe_degree(self, of: float) -> str:
        """Return the share of words that are replaced by blanks."""
        return f"{of:.0%} of the words anew"

    def list_unproven(self) -> tuple[str, ...]:
        """Name the degrees of variation. Requests show only numbers of blanks, and short texts have few blanks."""
        return ("method.strengths",)

    def ask_for_one(self) -> Self:
        """Return the settings with one text per request, which omit the field ``n``."""
        if "n=" in self.fields:
            return self
        return self.model_validate({**self.model_dump(), "fields": (*self.fields, "n=")})
