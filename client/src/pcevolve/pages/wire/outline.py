"""All that left in bodies, in one table: every field of every request, and which values it had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pcevolve.pages.wire.fields import Field, fields
from pcevolve.transcript import Attempt

MOST_VALUES = 12
"""That are spelled out; of more, the first and the last one are."""
MOST_SHOWN = 100
"""Fields in the table."""


@dataclass
class FieldOutline:
    """One field over all requests.

    Attributes:
        name: As in the bodies, such as ``prompt``.
        requests: How many attempts had it.
        values: Different texts, in the order in which they left.
        images: Different images in it, by digest, likewise.
    """

    name: str
    requests: int = 0
    values: dict[str, None] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)

    @property
    def shown(self) -> list[str]:
        """The values that are spelled out."""
        found = list(self.values)
        return found if len(found) <= MOST_VALUES else [found[0], found[-1]]

    def take(self, field: Field) -> None:
        """Count one occurrence; a text around an image counts as the image's."""
        self.requests += 1
        images = [part.image for part in field.parts if part.image]
        self.images.update(dict.fromkeys(images))
        if not images:
            self.values.setdefault("".join(part.text for part in field.parts))


def outline(attempts: Iterable[Attempt]) -> tuple[list[FieldOutline], int]:
    """The fields of all bodies that are text, in order of appearance, and how many more there are than are shown."""
    found: dict[str, FieldOutline] = {}
    parsed: dict[str, list[Field]] = {}
    unlisted = 0
    for each in attempts:
        body = each.sent.body
        if body.text and body.sha256 not in parsed:  # a retry has the same body
            parsed[body.sha256], more = fields(body.text)
            unlisted += more
        for one in parsed.get(body.sha256, ()):
            found.setdefault(one.name, FieldOutline(one.name)).take(one)
    listed = list(found.values())
    return listed[:MOST_SHOWN], max(0, len(listed) - MOST_SHOWN) + unlisted
