"""Private results are readable by their owner alone, whole or not at all."""

import json
import os
import stat

from pcevolve.durable import write_private


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_file_and_folder_are_closed_to_others_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        write_private(tmp_path / "run" / "private" / "accuracy.json", {"mean": 0.5})
    finally:
        os.umask(before)
    assert mode(tmp_path / "run" / "private") == 0o700
    assert mode(tmp_path / "run" / "private" / "accuracy.json") == 0o600


def test_open_folder_is_closed(tmp_path):
    (tmp_path / "private").mkdir(mode=0o755)
    write_private(tmp_path / "private" / "x.json", {})
    assert mode(tmp_path / "private") == 0o700


def test_result_replaces_an_older_one_and_leaves_nothing_else(tmp_path):
    for value in (1, 2):
        write_private(tmp_path / "private" / "x.json", {"mean": value})
    assert json.loads((tmp_path / "private" / "x.json").read_text()) == {"mean": 2}
    assert len(list((tmp_path / "private").iterdir())) == 1
