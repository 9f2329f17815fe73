"""Before an online API is used: limits are checked, and a person at a terminal is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pcevolve.cli import main as cli
from pcevolve.egress.transport import Address
from pcevolve.errors import AllowanceError, DeclinedError, UsageError
from pcevolve.ledger.ledger import Ledger
from pcevolve.transcript import RunReader
from support import online
from support.provider import png
from support.typed import typed

pytestmark = pytest.mark.system


@pytest.fixture
def run(server, tmp_path, monkeypatch):
    """The command; 127.1 is this machine too, but not in a spelling that counts as nearby."""
    for seed, label in enumerate(("cut", "good")):
        (tmp_path / "private" / label).mkdir(parents=True)
        (tmp_path / "private" / label / "a.png").write_bytes(png(seed))
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    api = server.address.replace("127.0.0.1", "127.1")
    given = typed(
        **{
            "private": tmp_path / "private",
            "domain": "scratch",
            "out": tmp_path / "run",
            "ledger": tmp_path / "ledger",
        },
        **{"api": api, "dialect": "a1111", "model": "v1-5", "method": "t2i", "candidates": 1},
        **{"batch": 1, "size": 16, "pad_selection": 0.1},
    )

    def command(*more: str) -> None:
        cli.app([str(each) for each in ("run", *given, *more)], standalone_mode=False)

    return command


@pytest.fixture
def terminal(monkeypatch) -> Iterator[int]:
    """Standard input as a terminal; what is written to it is what a person types."""
    keyboard, slave = os.openpty()
    with os.fdopen(slave, "r") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield keyboard
    os.close(keyboard)


def test_a_person_who_says_no_sends_no_prompt(run, server, terminal, tmp_path, capfd):
    os.write(terminal, b"n\n")
    with pytest.raises(DeclinedError, match="not started, as you wish"):
        run("--set", "provider.price=0.5")
    assert "2 requests to http://127.1" in capfd.readouterr().err
    assert server.asked == []
    os.write(terminal, b"y\n")
    run("--set", "provider.price=0.5")
    assert (tmp_path / "run" / "release").is_dir()


WEAK = ("--method", "pcevolve", "--iterations", "1", "--shots", "1", "--candidates", "10", "--epsilon", "0.1")
"""Of a run whose selection is no better than luck."""
LARGE = ("--method", "pcevolve", "--iterations", "1", "--shots", "1", "--candidates", "10", "--epsilon", "21")


@pytest.mark.parametrize(
    ("options", "doubt"),
    [
        (
            WEAK,
            "with --epsilon 0.1 and --method pcevolve, the selection cannot be told from choosing at random",
        ),
        (LARGE, "--epsilon 21 allows epsilon 21, which hides almost nothing (above 20)"),
    ],
)
def test_a_run_that_is_hardly_worth_its_price_is_asked_about_and_needs_yes_where_nobody_can_answer(
    run, server, terminal, monkeypatch, tmp_path, capfd, options, doubt
):
    os.write(terminal, b"n\n")
    with pytest.raises(DeclinedError, match=r"not started, as you wish.*nothing was spent"):
        run(*options)
    assert doubt in capfd.readouterr().err
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: PTH123, SIM115
    with pytest.raises(UsageError, match="not started, nothing was spent; --yes says that it is meant so"):
        run(*options)
    assert server.asked == []
    assert Ledger(tmp_path / "ledger").runs() == []
    run(*options, "--yes")
    assert (tmp_path / "run" / "release").is_dir()


@pytest.mark.parametrize("method", ["random", "t2i"])
def test_a_run_that_spends_nothing_is_not_asked_about(run, server, monkeypatch, method):
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: PTH123, SIM115
    run("--method", method, "--epsilon", "30")
    assert server.asked


def test_a_person_who_does_not_like_the_first_images_spends_nothing(run, server, terminal, tmp_path, capfd):
    os.write(terminal, b"y\ny\nn\n")  # a selection of one out of one, an online API, and its images
    with pytest.raises(DeclinedError, match="no privacy budget was spent") as refused:
        run("--method", "pe", "--epsilon", "4", "--delta", "1e-5", "--shots", "1")
    assert "Do these look like your domain?" in capfd.readouterr().err
    assert len(server.asked) == 2
    record = RunReader.strict(tmp_path / "run")
    assert record.receipts == ()
    assert record.layout.preview.is_file()
    assert "--resume" in str(refused.value)
    cli.app(["run", "--yes", "--resume", str(tmp_path / "run")], standalone_mode=False)
    assert (tmp_path / "run" / "release").is_dir()


@pytest.fixture
def paid_api(tmp_path, monkeypatch) -> Iterator[tuple[online.LocalServer, list[str]]]:
    """An API that charges 0.25 an image, and the options of a run that asks it for two kinds of 40 images."""
    made = online.LocalServer(online.getimg)
    for seed, label in enumerate(("cut", "good")):
        (tmp_path / "private" / label).mkdir(parents=True)
        (tmp_path / "private" / label / "a.png").write_bytes(png(seed))
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.KEY)
    options = typed(
        **{"private": tmp_path / "private", "domain": "scratch", "out": tmp_path / "run"},
        **{"ledger": tmp_path / "ledger", "api": made.address.replace("127.0.0.1", "127.1"), "method": "t2i"},
        **{"model": "bundled", "candidates": 40, "batch": 1, "pad_selection": 0.1},
    )
    yield made, [str(each) for each in options]
    made.close()


def look(options: list[str], *more: str) -> None:
    cli.app(["preview", *options, *more], standalone_mode=False)


def said_by(capfd) -> str:
    return " ".join(capfd.readouterr().err.split())


def test_a_look_stops_before_it_would_cost_more_than_is_allowed_and_need_not_pay_for_the_whole(
    paid_api, capfd
):
    server, options = paid_api
    with pytest.raises(UsageError, match=r"would cost 0\.64 USD, more than --max-cost 0\.5"):
        look(options, "--set", "provider.price=0.04", "--max-cost", "0.5")
    assert server.asked == []
    with pytest.raises(AllowanceError, match="cost 1 USD, and the next request would exceed --max-cost 1"):
        look(options, "--max-cost", "1")
    assert len(server.asked) == 4
    look(options, "--max-cost", "4")
    assert len(server.asked) == 16
    assert "16 images, 4 USD" in said_by(capfd)


@pytest.mark.parametrize(
    ("api", "near"),
    [
        ("http://localhost:1", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:1", True),
        ("http://192.168.1.2", True),
        ("https://10.0.0.9", True),
        ("https://api.example", False),
        ("https://8.8.8.8", False),
        ("https://localhost.example", False),
    ],
)
def test_nearby_is_this_machine_or_a_private_address(api, near):
    assert Address(api).is_nearby is near
