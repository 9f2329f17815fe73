"""A page on which a person can scroll through everything that left, made from public records alone."""

from __future__ import annotations

from pcevolve.pages.wire.page import render_viewer, write_viewer

__all__ = ["render_viewer", "write_viewer"]
