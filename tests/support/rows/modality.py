"""Rows of two numbers: how they are asked for, and what sets them apart from other kinds."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, ClassVar, Literal

from pcevolve.public.modality.base import Advice, Described, Modality, ModelSize, Nouns

if TYPE_CHECKING:
    from pcevolve.public.config.providers import PublicProvider


class Rows(Modality):
    """Settings by which rows are asked for."""

    nouns: ClassVar[Nouns] = Nouns("row", "rows", "a row")
    medium: ClassVar[str] = "rows:ROWS"
    verb: ClassVar[str] = "compute"
    template: ClassVar[str] = "One {domain} of {label}"
    unlabelled_template: ClassVar[str] = "One {domain}"
    sends_inline: ClassVar[bool] = True
    from_tables: ClassVar[bool] = True
    refuses_looks: ClassVar[str] = "appearance: rows have none, so they are taken as-is"
    refuses_sheets: ClassVar[str] = "has rows: --html shows them side by side"
    other_provider: ClassVar[str] = "this provider does not compute what was released about your classes"
    unused_fields: ClassVar[frozenset[str]] = frozenset({"data.window", "method.appearance"})
    independent_classifier: ClassVar[str] = "line"

    kind: Literal["row"]
    columns: int

    @classmethod
    def settle(
        cls, asked: PublicProvider, size: ModelSize, advice: Advice | None, taken: AbstractSet[str]
    ) -> dict[str, object]:
        """Two columns, always."""
        return {"kind": "row", "columns": 2}

    def describe(self) -> Described:
        """The number of columns."""
        return [("Columns", self.columns)]

    def describe_asking(self, degrees: str, advice: str) -> str:
        """The columns, and how many of them are anew."""
        return f"{self.columns} columns, {degrees} anew"

    def describe_degree(self, of: float) -> str:
        """The share of the columns."""
        return f"{of:.0%} of the columns anew"

    def list_unproven(self) -> tuple[str, ...]:
        """Columns are in no request."""
        return ("modality.columns", "method.strengths")
