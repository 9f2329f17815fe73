"""Unsafe settings are refused before a socket is opened."""

import pytest

from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import Settings, is_loopback, read_api_key

KEY = "k" * 16


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_no_key_is_needed_where_only_this_machine_can_knock(host):
    assert is_loopback(host)
    assert Settings(host=host).api_key == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org", "127.0.0.1.example.org", ""])
def test_any_other_address_needs_a_key(host):
    with pytest.raises(SettingsError, match=r"refusing to listen on .* without an API key"):
        Settings(host=host)
    assert Settings(host=host, api_key=KEY).host == host


@pytest.mark.parametrize("key", ["short", "ключ" * 8])
def test_a_weak_key_is_refused(key):
    with pytest.raises(SettingsError, match="at least 16 ASCII characters"):
        Settings(api_key=key)


def test_the_key_is_not_in_the_repr():
    assert KEY not in repr(Settings(api_key=KEY))


def key_file(tmp_path, text=KEY + "\n", mode=0o600):
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_key_comes_from_the_environment_or_a_private_file(tmp_path):
    assert read_api_key(None, KEY) == KEY
    assert read_api_key(key_file(tmp_path), "") == KEY


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_file_that_others_can_reach_is_refused(tmp_path, mode):
    with pytest.raises(SettingsError, match="chmod 600"):
        read_api_key(key_file(tmp_path, mode=mode), "")


def test_a_missing_or_empty_key_file_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"cannot read the API key file .*FileNotFoundError"):
        read_api_key(tmp_path / "none", "")
    with pytest.raises(SettingsError, match="is empty"):
        read_api_key(key_file(tmp_path, text="\n"), "")


def test_two_keys_are_one_too_many(tmp_path):
    with pytest.raises(SettingsError, match="choose one"):
        read_api_key(key_file(tmp_path), KEY)
