"""Before an online API is used: limits are checked, and a person at a terminal is asked."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.app.cli import commands as cli
from pcevolve.errors import AllowanceError, DeclinedError, UsageError
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.address import Address
from support import online
from support.online import Heard, Reply, answer_json
from support.provider import png

pytestmark = pytest.mark.system


@pytest.fixture
def given(given) -> dict[str, object]:
    """A run of two requests; 127.1 is this machine too, but not in a spelling that counts as nearby."""
    api = str(given["api"]).replace("127.0.0.1", "127.1")
    return given | {"api": api, "method": "t2i", "candidates": 1, "batch": 1, "iterations": None, "yes": None}


@pytest.fixture
def terminal(monkeypatch) -> Iterator[int]:
    """Standard input as a terminal; what is written to it is what a person types."""
    keyboard, slave = os.openpty()
    with os.fdopen(slave, "r") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield keyboard
    os.close(keyboard)


@pytest.fixture
def nobody(monkeypatch) -> Iterator[None]:
    """Standard input at which nobody can answer."""
    with open(os.devnull) as stdin:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", stdin)
        yield


def test_a_person_who_says_no_sends_no_prompt(run, server, terminal, capfd):
    os.write(terminal, b"n\n")
    with pytest.raises(DeclinedError, match="Cancelled"):
        run(price=0.5)
    assert "2 requests to http://127.1" in capfd.readouterr().err
    assert server.asked == []
    os.write(terminal, b"y\nn\n")
    assert (run(price=0.5) / "release").is_dir()
    run("--resume", "run", price=0.5)  # nothing is left to be asked for, so nobody is asked


def test_the_owner_is_told_of_names_that_may_be_of_one(run, capfd, tmp_path):
    of = {"cut/a.png": "007", "good/a.png": "7", "cut/a_mask.png": "8", "good/b.png": "9"}
    for seed, name in enumerate(of):
        (tmp_path / "private" / name).write_bytes(png(seed))
    rows = "".join(f"{name},{patient}\n" for name, patient in of.items())
    (tmp_path / "u.csv").write_text(f"file,patient\n{rows}")
    run(unit_map="u.csv", shots=2, method="random")
    told = " ".join(capfd.readouterr().err.split())
    assert "or punctuation: 1: '007' and '7'. Each name counts as a separate patient" in told
    assert "some images are named after others: 1: cut/a.png and cut/a_mask.png" in told


DOUBTFUL = {"method": "pcevolve", "iterations": 1, "candidates": 10}


@pytest.mark.parametrize(
    ("options", "doubt"),
    [
        (
            {"epsilon": 0.1},
            "with --epsilon 0.1 and --method pcevolve, the selection is indistinguishable from random choice, so the "
            "budget would be wasted; use more shots or a larger epsilon, or --method t2i",
        ),
        ({"epsilon": 21}, "--epsilon 21 allows epsilon 21; an epsilon above 20 protects almost nothing"),
        (
            {"epsilon": 12, "subsample": 1},
            "--epsilon 12 allows epsilon 24 for one image of the whole folder (12 for one that was drawn); an "
            "epsilon above 20 protects almost nothing",
        ),
    ],
)
def test_a_run_that_is_hardly_worth_its_price_is_asked_about_and_needs_yes_where_nobody_can_answer(
    run, server, terminal, request, capfd, options, doubt
):
    os.write(terminal, b"n\n")
    with pytest.raises(DeclinedError, match=r"Cancelled. Nothing was sent or spent"):
        run(**DOUBTFUL, **options)
    assert doubt in " ".join(capfd.readouterr().err.split())
    request.getfixturevalue("nobody")
    with pytest.raises(
        UsageError, match="the run was not started, and nothing was spent; to start it anyway, give --yes"
    ):
        run(**DOUBTFUL, **options)
    assert server.asked == []
    assert LedgerBook(Path("ledger/ledger.sqlite")).runs() == []
    assert (run(**DOUBTFUL, **options, yes=True) / "release").is_dir()


@pytest.mark.parametrize("method", ["random", "t2i"])
def test_a_run_that_spends_nothing_is_not_asked_about(run, server, nobody, method):
    run(method=method, epsilon=30)
    assert server.asked


@pytest.mark.parametrize("more", [(), ("--resume", "run")], ids=str)
def test_a_person_who_does_not_like_the_first_images_spends_nothing(
    run, server, terminal, tmp_path, capfd, more
):
    os.write(terminal, b"y\ny\nn\n")  # a selection of one out of one, an online API, and its images
    with pytest.raises(DeclinedError, match="No privacy budget was spent") as refused:
        run(*more, method="pe", epsilon=4, delta=1e-5)
    assert "Do these images look like your domain?" in capfd.readouterr().err
    assert len(server.asked) == 2
    record = RunReader.strict(tmp_path / "run")
    assert record.receipts == ()
    assert record.layout.preview.is_file()
    assert "--resume" in str(refused.value)
    cli.app(["run", "--yes", "--resume", "run"], standalone_mode=False)
    assert (tmp_path / "run" / "release").is_dir()


def test_repeats_among_the_first_images_are_told_where_a_person_is_asked_and_by_a_preview(
    words, run, server, terminal, tmp_path, capfd
):
    picture = base64.b64encode(png(5)).decode()
    honest = server.speak

    def speak(heard: Heard) -> Reply:
        reply = honest(heard)
        if not heard.path.endswith("txt2img"):
            return reply
        made = json.loads(reply.body)["images"]
        return answer_json(200, {"images": [*made[:2], *[picture] * (len(made) - 2)], "info": "{}"})

    server.speak = speak
    asked = {"method": "pe", "epsilon": 8, "delta": 1e-5, "candidates": 8, "batch": 8}
    os.write(terminal, b"y\nn\n")  # an online API, and its images
    with pytest.raises(DeclinedError, match="No privacy budget was spent"):
        run(**asked)
    told = "6 of 8 of class 'cut', 6 of 8 of class 'good' repeat another image exactly"
    shown = " ".join(capfd.readouterr().err.split())
    assert f"WARNING: {told}" in shown
    assert (
        f"{told}, as a cache or a placeholder"
        in shown.partition("WARNING")[2].partition("Do these images look")[0]
    )
    cli.app(["preview", "--yes", *words(**asked, out="look")[1:]], standalone_mode=False)
    assert f"WARNING: {told}" in " ".join(capfd.readouterr().err.split())
    assert {row.epsilon for row in LedgerBook(Path("ledger/ledger.sqlite")).runs()} == {0.0}


def test_a_look_stops_before_it_would_cost_more_than_is_allowed_and_need_not_pay_for_the_whole(
    words, monkeypatch, capfd
):
    server = online.LocalServer(online.getimg)  # it charges 0.25 an image
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.KEY)
    api = {"api": server.address.replace("127.0.0.1", "127.1"), "dialect": None, "model": "bundled"}

    def look(**limits: float) -> None:
        asked = words(**{**api, "candidates": 40, "size": None, "patience": None}, **limits)
        cli.app(["preview", *asked[1:]], standalone_mode=False)

    with pytest.raises(UsageError, match=r"would cost 0\.64 USD, more than --max-cost 0\.5"):
        look(price=0.04, max_cost=0.5)
    with pytest.raises(UsageError, match="would cost 8 USD, but the account holds only 5"):
        look(price=0.5)
    assert server.asked == []
    with pytest.raises(AllowanceError, match="cost 1 USD, and the next request would exceed --max-cost 1"):
        look(max_cost=1)
    assert len(server.asked) == 4
    look(max_cost=4)
    assert len(server.asked) == 16
    assert "16 images, 4 USD" in " ".join(capfd.readouterr().err.split())
    server.close()


@pytest.mark.parametrize(
    ("near", "apis"),
    [
        (True, "http://localhost:1 http://127.0.0.1 http://[::1]:1 http://192.168.1.2 https://10.0.0.9"),
        (False, "https://api.example https://8.8.8.8 https://localhost.example"),
    ],
)
def test_nearby_is_this_machine_or_a_private_address(near, apis):
    assert [Address(api).is_nearby for api in apis.split()] == [near] * len(apis.split())
