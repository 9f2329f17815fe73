"""From the command line and the environment to settings."""

import pytest
from typer.testing import CliRunner

from pcevolve_server import benching, cli, logs, server


@pytest.fixture
def settings_of(monkeypatch):
    """Return the settings that a command line stands for; nothing is served."""
    taken = []
    monkeypatch.setattr(server, "run", taken.append)
    monkeypatch.setattr(logs, "configure", lambda level: None)
    monkeypatch.delenv("PCEVOLVE_SERVER_MODEL", raising=False)

    def settings(*words, **environment):
        done = CliRunner().invoke(cli.app, ["serve", *words], env=environment, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return taken.pop()

    return settings


def names(settings):
    return [each.model for each in settings.models]


def test_models_are_served_in_the_order_of_their_options(settings_of):
    settings = settings_of("--model", "a/b", "--model", "library:tiles", "--model-memory-mib", "500")
    assert (names(settings), settings.model_memory_mib) == (["a/b", "library:tiles"], 500)


def test_a_model_is_measured_with_the_options_that_it_would_be_served_with(settings_of, monkeypatch):
    words = ["--model", "a/b", "--lora", "x=0.5", "--scheduler", "lcm", "--ip-adapter", "ip", "--vae-tiling"]
    words += [
        "--guidance-interval",
        "0.4",
        "1",
        "--threads",
        "3",
        "--offline",
        "--compile",
        "--batching",
        "merge",
    ]
    measured = []
    monkeypatch.setattr(benching, "run", lambda settings, as_json, compare: measured.append(settings))
    done = CliRunner().invoke(cli.app, ["bench", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert measured == [settings_of(*words)]
