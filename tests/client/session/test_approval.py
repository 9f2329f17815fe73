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


def test_whoever_said_yes_before_is_not_asked(run, server, terminal, capfd):
    run("--yes")
    assert "go on?" not in capfd.readouterr().err
    assert len(server.asked) == 2


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


def test_a_look_at_a_paid_api_says_what_it_will_cost_and_what_it_cost(paid_api, capfd):
    server, options = paid_api
    look(options, "--set", "provider.price=0.04")
    before, page, after = said_by(capfd).partition("drawn from words alone")
    assert "cost of a look 16 images, 0.64 USD" in before
    assert "of the whole 80 images, 3.2 USD" in before
    assert page
    # the API says itself what it charged, and that is believed
    assert "no privacy budget was spent; 16 images, 4 USD" in after
    assert len(server.asked) == 16


def test_a_second_look_costs_nothing_more_and_the_run_is_told_what_was_paid(paid_api, tmp_path, capfd):
    server, options = paid_api
    server.instead.append(online.said(503, {"error": {"type": "busy", "code": "busy", "message": "later"}}))
    look(options)
    said = said_by(capfd)
    assert "cost of a look 16 images, at your provider's price (provider.price says it beforehand)" in said
    assert "no privacy budget was spent; 16 images, 4 USD" in said
    look(options)
    said = said_by(capfd)
    assert "resumed it goes on where it was" in said
    assert "cost so far 16 images, 4 USD; of the rest 64 images, 16 USD" in said
    assert "cost of a look" not in said
    assert "no privacy budget was spent; 16 images, 4 USD" in said
    cli.app(["run", "--yes", "--resume", str(tmp_path / "run")], standalone_mode=False)
    assert "came back; 80 images, 20 USD" in " ".join(capfd.readouterr().out.split())
    assert len(server.asked) == 80 + 1


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


def test_a_person_is_asked_about_what_the_look_costs_and_not_the_whole(paid_api, terminal, capfd):
    server, options = paid_api
    os.write(terminal, b"n\n")
    with pytest.raises(DeclinedError, match="not started, as you wish"):
        look(options, "--set", "provider.price=0.04")
    assert "16 requests to http://127.1" in (said := said_by(capfd))
    assert "for 16 images, 0.64 USD: go on?" in said
    assert server.asked == []


@pytest.mark.parametrize(
    ("options", "raised", "message"),
    [
        (
            ("--set", "provider.max_requests=2"),
            ("--set", "provider.max_requests=9"),
            "takes 3 requests, more than provider.max_requests 2",
        ),
        (
            ("--set", "provider.price=2", "--max-cost", "3"),
            ("--set", "provider.price=2", "--max-cost", "9"),
            "would cost 4 in the currency of your account, more than --max-cost 3",
        ),
    ],
)
def test_a_limit_that_is_too_low_ends_the_run_before_a_prompt_leaves_and_can_be_raised(
    run, server, options, raised, message
):
    with pytest.raises(UsageError, match=message):
        run("--yes", *options)
    assert server.asked == []
    run("--yes", *raised)


def test_limits_may_be_raised_when_a_run_is_continued(run, server, tmp_path):
    server.instead.append(online.said(500, {"error": "RuntimeError", "errors": "out of memory"}))
    with pytest.raises(Exception, match=r"all that provider.max_requests allows"):
        run("--yes", "--set", "provider.max_requests=3")
    run("--yes", "--resume", tmp_path / "run", "--set", "provider.max_requests=9")
    assert (tmp_path / "run" / "release").is_dir()


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
