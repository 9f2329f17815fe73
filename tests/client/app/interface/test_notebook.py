"""A result as a notebook shows it."""

from __future__ import annotations


def test_a_notebook_shows_marks_promise_and_pictures(evolved, tmp_path):
    page = evolved(domain="<scan>")._repr_html_()
    assert "&lt;scan&gt;" in page
    assert "<scan>" not in page
    assert page.count("<img ") == 4
    assert "ε = " in page
    assert 'role="alert"' not in page
    apart = {"out": tmp_path / "marked", "ledger": tmp_path / "other" / "ledger.sqlite"}
    marked = evolved(insecure_noise_seed=1, **apart)
    assert 'role="alert"' in marked._repr_html_()
    assert "No guarantee" in marked._repr_html_()
    assert repr(marked).startswith("<Result: INSECURE: noise came from a seed")
    assert not marked.verify().holds
