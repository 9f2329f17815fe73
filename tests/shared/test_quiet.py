"""Libraries are asked not to tell their makers who uses them."""

from __future__ import annotations

import os

from pcevolve_shared.quiet import keep_quiet


def test_libraries_are_told_to_tell_nobody_unless_somebody_said_otherwise(monkeypatch):
    for name in ("DO_NOT_TRACK", "HF_HUB_DISABLE_TELEMETRY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    keep_quiet()
    names = ("DO_NOT_TRACK", "HF_HUB_DISABLE_TELEMETRY", "ORT_DISABLE_TELEMETRY")
    assert [os.environ[name] for name in names] == ["1", "1", "0"]
