"""The price of a run, which costs nothing to ask for."""

from __future__ import annotations

import pytest

import pcevolve


def test_a_plan_prices_a_run_and_spends_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PCEVOLVE_LEDGER", str(tmp_path / "ledger" / "ledger.sqlite"))
    planned = pcevolve.plan(epsilon=10, classes=2, shots=10)
    assert planned.method == "dp-means"
    assert planned.reason
    assert planned.epsilon_total <= 10
    assert planned.verdict in planned._repr_html_()
    assert repr(planned).startswith("<Plan: dp-means, epsilon 10 at delta 1e-05: strong: ")
    assert pcevolve.plan("random").reason == ""
    with pytest.raises(pcevolve.UsageError, match="unknown method 'luck'"):
        pcevolve.plan("luck")
    with pytest.raises(pcevolve.UsageError, match=r"^shots: "):
        pcevolve.plan(shots=0)
    assert not (tmp_path / "ledger" / "ledger.sqlite").exists()
