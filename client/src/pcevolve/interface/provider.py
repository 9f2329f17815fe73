"""Whose model makes the images: an address, how it is spoken to, and the key that opens it."""

from __future__ import annotations

from dataclasses import dataclass, field

LOCAL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Provider:
    """An image API that is not trusted.

    Attributes:
        url: Scheme, host, port and path; ``pcevolve-server serve`` listens at the default.
        dialect: How it speaks: ``getimg`` for ``pcevolve-server``, ``openai``, ``chat`` for texts, or another one; a
            name that there is not is answered with all that there are.
        key: What opens it; ``PCEVOLVE_API_KEY`` in the environment if None. It is never written down.
        model: Which of its models is asked.
    """

    url: str = LOCAL
    dialect: str = "getimg"
    key: str | None = field(default=None, repr=False)
    model: str = "bundled"

    @property
    def settings(self) -> dict[str, str]:
        """The run's options that say where it goes and how it is spoken to; not the key."""
        return {"api": self.url, "dialect": self.dialect, "model": self.model}
