"""From the command line and the key file to settings; unsafe ones are refused before a socket is opened."""

import pytest
from typer.testing import CliRunner

from pcevolve_server import benching, cli, logs, server
from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import EngineKind, Key, Settings, is_loopback, read_keys

KEY = "k" * 16


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_no_key_is_needed_where_only_this_machine_can_knock(host):
    assert is_loopback(host)
    assert Settings(host=host).keys == ()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org", "127.0.0.1.example.org", ""])
def test_any_other_address_needs_a_key(host):
    with pytest.raises(SettingsError, match=r"refusing to listen on .* without an API key"):
        Settings(host=host)
    assert Settings(host=host, keys=(Key(KEY),)).host == host


@pytest.mark.parametrize("key", ["short", "ключ" * 8])
def test_a_weak_key_is_refused(key):
    with pytest.raises(SettingsError, match="at least 16 ASCII characters"):
        Settings(keys=(Key(key),))


def test_the_key_is_not_in_the_repr():
    assert KEY not in repr(Settings(keys=(Key(KEY),)))


def key_file(tmp_path, text=KEY + "\n", mode=0o600):
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_key_comes_from_the_environment_or_a_private_file(tmp_path):
    assert read_keys(None, KEY) == (Key(KEY),)
    assert read_keys(key_file(tmp_path), "") == (Key(KEY),)
    assert read_keys(None, "") == ()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_file_that_others_can_reach_is_refused(tmp_path, mode):
    with pytest.raises(SettingsError, match="chmod 600"):
        read_keys(key_file(tmp_path, mode=mode), "")


def test_a_path_with_blanks_in_the_environment_is_one_model(tmp_path, monkeypatch):
    path = tmp_path / "my model.safetensors"
    path.touch()
    for text, names in ((str(path), [str(path)]), ("bundled text:bundled", ["bundled", "text:bundled"])):
        monkeypatch.setenv("PCEVOLVE_SERVER_MODEL", text)
        assert cli.split_models(text.split()) == names


def test_a_file_may_hold_several_keys_with_names(tmp_path):
    text = f"# who may ask\nclinic {KEY}\n\n  lab-2 {KEY[::-1]}2\n{KEY}3\n"
    names = [key.name for key in read_keys(key_file(tmp_path, text=text), "")]
    assert names == ["clinic", "lab-2", "default"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"clinic {KEY}\nclinic {KEY}2", "a name or a key twice"),
        (f"clinic {KEY}\nlab {KEY}", "a name or a key twice"),
        (f"the clinic {KEY}", "more than a name and a key"),
        ("clinic short", "at least 16"),
        (f"cli/nic {KEY}", "letters, digits"),
    ],
)
def test_keys_that_cannot_be_told_apart_or_can_be_guessed_are_refused(tmp_path, text, complaint):
    with pytest.raises(SettingsError, match=complaint):
        read_keys(key_file(tmp_path, text=text), "")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"replicas": 2}, "the thread engine has one replica"),
        ({"engine": EngineKind.PROCESSES, "max_replicas": 2}, "need --engine ray"),
        ({"ray_address": "auto"}, "need --engine ray"),
        (
            {"engine": EngineKind.RAY, "replicas": 3, "max_replicas": 2},
            "needs --replicas, and must not be less",
        ),
        (
            {"engine": EngineKind.RAY, "replicas": 0, "max_replicas": 2},
            "needs --replicas, and must not be less",
        ),
    ],
)
def test_replicas_of_an_engine_that_has_none_or_other_bounds_are_refused(changes, complaint):
    with pytest.raises(SettingsError, match=complaint):
        Settings(**changes)
    assert Settings(engine=EngineKind.RAY, replicas=2, max_replicas=2).max_replicas == 2


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
    words += ["--max-batch", "3", "--threads", "3", "--offline"]
    words += ["--compile", "--batching", "merge"]
    measured = []
    monkeypatch.setattr(benching, "run", lambda settings, as_json: measured.append(settings))
    done = CliRunner().invoke(cli.app, ["bench", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert measured == [settings_of(*words)]
