"""A page on which a person can scroll through everything that left, made from public records alone."""

from __future__ import annotations

from pcevolve.pages.wire.page import rendered_viewer, write_viewer

__all__ = ["rendered_viewer", "write_viewer"]
