"""``pcevolve audit-dp``: what it prints, and by which exit codes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from pcevolve.app.cli.audit_dp import audit_dp
from pcevolve.app.cli.help import make_command
from pcevolve.errors import UsageError
from pcevolve.public.methods import METHOD_TABLE, MethodEntry
from pcevolve.public.selectors import METHODS
from support import toy

FAST = ("--seed", "1", "--runs", "400")


@pytest.fixture
def invoke():
    app = make_command("audit-dp", audit_dp)

    def call(*arguments: str):
        return CliRunner().invoke(app, arguments)

    return call


class Leaky:
    """Releases the private embeddings as they are."""

    def measure(self, records, scene, event, noise):
        return {"everything": records.embeddings}

    def pick(self, measured, scene):
        raise NotImplementedError


@pytest.fixture
def leaky(monkeypatch):
    monkeypatch.setitem(METHODS, "pcevolve", replace(METHODS["pcevolve"], selector=Leaky))


def test_a_correct_method_is_not_refuted_and_the_exit_code_is_0(invoke):
    result = invoke("pcevolve", "--epsilon", "2", "--json", *FAST)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    asked = {"method": "pcevolve", "relation": "replace-one", "delta": 0, "runs": 400, "confidence": 0.95}
    assert found.items() >= {**asked, "verdict": "not refuted"}.items()
    assert found["event"].startswith("log-likelihood score")
    assert 0 < found["epsilon_lower_bound"] <= found["epsilon_claimed"] == 2
    assert found["epsilon_lower_bound"] <= found["epsilon_ceiling"]
    (line,) = result.stderr.splitlines()
    shown = line.removeprefix("the claim of method 'pcevolve' (epsilon 2) is not refuted: ")
    shown = shown.removeprefix("with confidence 0.95, epsilon is at least ")
    assert float(shown) <= found["epsilon_lower_bound"] < float(shown) + 0.001


def test_a_leak_is_one_clear_line_and_exit_code_1(invoke, leaky):
    result = invoke("pcevolve", "--epsilon", "1", "--json", *FAST)
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["verdict"] == "refuted"
    assert found["epsilon_lower_bound"] == found["epsilon_ceiling"] > 1
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("the claim of method 'pcevolve' (epsilon 1) is REFUTED: with confidence")


def test_a_method_that_names_no_worst_case_is_refused_in_a_sentence(invoke, monkeypatch):
    monkeypatch.setitem(METHODS, "toy", replace(toy.METHOD, worst_case=None))
    monkeypatch.setitem(METHOD_TABLE, "toy", MethodEntry("toy:METHOD"))
    result = invoke("toy", "--epsilon", "2", *FAST)
    assert isinstance(result.exception, UsageError)
    assert "'toy' defines no worst-case pair of neighbouring datasets" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nonsense", "--epsilon", "1"), "unknown method 'nonsense'"),
        (("random", "--epsilon", "1"), "nothing to audit"),
        (("pcevolve", "--epsilon", "-1"), "epsilon must be a finite number above 0"),
        (("pe", "--epsilon", "1", "--delta", "1"), "delta must be"),
        (("pe", "--epsilon", "1", "--delta", "0"), "needs --delta"),
        (("pcevolve", "--epsilon", "1", "--confidence", "0.5"), "--confidence must be at least 0.95"),
    ],
)
def test_what_cannot_be_audited_is_refused_before_anything_runs(invoke, arguments, complaint):
    result = invoke(*arguments)
    assert isinstance(result.exception, UsageError)
    assert complaint in str(result.exception)
