"""From the command line and the environment to settings."""

import re

import pytest
from typer.testing import CliRunner

from pcevolve_server import benching, cli, logs, server
from pcevolve_server.settings import Lora


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


def test_without_a_word_the_bundled_model_is_served_alone(settings_of):
    settings = settings_of()
    assert (names(settings), settings.model_memory_mib) == (["bundled"], 0)


def test_models_are_served_in_the_order_of_their_options(settings_of):
    settings = settings_of("--model", "a/b", "--model", "library:tiles", "--model-memory-mib", "500")
    assert (names(settings), settings.model_memory_mib) == (["a/b", "library:tiles"], 500)


def test_what_is_said_of_one_model_is_said_of_the_first(settings_of):
    settings = settings_of(
        *("--model", "a", "--model", "b", "--model-id", "mine", "--lora", "x=0.5", "--lora", "y"),
        *("--scheduler", "lcm", "--ip-adapter", "ip", "--threads", "3"),
    )
    first, second = settings.models
    assert (first.model_id, first.loras) == ("mine", (Lora("x", 0.5), Lora("y")))
    assert (first.scheduler, first.adapter) == ("lcm", "ip")
    assert (second.model, second.model_id, second.loras, second.scheduler, second.adapter) == (
        "b",
        "",
        (),
        None,
        "",
    )
    assert (first.threads, second.threads) == (3, 3)


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


def test_help_of_every_command_tells_its_exit_codes():
    for command, codes in {"serve": (0, 2, 3, 4), "bench": (0, 2, 3)}.items():
        said = " ".join(CliRunner().invoke(cli.app, [command, "--help"]).output.split())
        _, _, told = said.partition("Exit codes:")
        assert tuple(int(code) for code in re.findall(r"\d", told)) == codes


def test_the_environment_names_one_model_or_several_with_blanks_between_them(settings_of):
    assert names(settings_of(PCEVOLVE_SERVER_MODEL="bundled")) == ["bundled"]
    assert names(settings_of(PCEVOLVE_SERVER_MODEL="bundled library:tiles")) == ["bundled", "library:tiles"]
    assert settings_of(PCEVOLVE_SERVER_LORAS="a=0.5 b").model.loras == (Lora("a", 0.5), Lora("b"))


@pytest.mark.parametrize("before", ["", "library:"])
def test_a_directory_with_blanks_in_its_name_is_one_model_in_the_environment_too(
    settings_of, tmp_path, before
):
    folder = tmp_path / "my  model"
    folder.mkdir()
    assert names(settings_of(PCEVOLVE_SERVER_MODEL=f"{before}{folder}")) == [f"{before}{folder}"]


def test_an_interval_and_tiles_are_the_first_models_and_off_unless_asked_for(settings_of):
    plain = settings_of().model
    assert (plain.guidance_interval, plain.tiling) == ((0.0, 1.0), False)
    said = settings_of("--model", "a", "--model", "b", "--guidance-interval", "0.4", "1", "--vae-tiling")
    assert [each.guidance_interval for each in said.models] == [(0.4, 1.0), (0.0, 1.0)]
    assert [each.tiling for each in said.models] == [True, True]
    assert settings_of(PCEVOLVE_SERVER_GUIDANCE_INTERVAL="0.4 1").model.guidance_interval == (0.4, 1.0)
