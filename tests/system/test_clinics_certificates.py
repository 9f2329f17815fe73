"""A coordinator with a certificate, and owners who are confined; certificates and clocks that are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.keeper.ledger.history import LedgerBook
from support.certificates import self_signed
from system.test_clinics import Clinics, end, prepare

A_YEAR_OFF = """
import datetime, time

_now, _ns, _year = time.time, time.time_ns, 366 * 86400

class _Late(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(_now() + _year, tz)

time.time, time.time_ns, datetime.datetime = lambda: _now() + _year, lambda: _ns() + _year * 10**9, _Late
"""
"""OpenSSL asks the kernel for the time itself, so this is for all that Python does."""


@pytest.fixture
def clinics(tmp_path: Path) -> Iterator[Clinics]:
    for name in ("tls", "other", "late"):
        (tmp_path / name).mkdir()
    with prepare(tmp_path) as made:
        made.scheme = "https"
        yield made


def list_runs(clinics: Clinics, place: int):
    ledger = LedgerBook(clinics.folder / f"owner-{place}" / "ledger" / "ledger.sqlite")
    try:
        return list(ledger.runs())
    finally:
        ledger.close()


def serve(clinics: Clinics, *more: str):
    return clinics.coordinate("--certificate", "tls/cert.pem", "--certificate-key", "tls/key.pem", *more)


def test_with_a_certificate_confined_owners_take_part_and_one_whose_clock_is_a_year_off_does_too(clinics):
    self_signed(clinics.folder / "tls")
    (clinics.folder / "late" / "sitecustomize.py").write_text(A_YEAR_OFF)
    coordinator = serve(clinics, "--require-confinement")
    trusting = ["--ca-file", "tls/cert.pem", "--require-confinement"]
    owners = [clinics.join(0, *trusting), *clinics.join_apart(1, *trusting)]
    clinics.environment = {"PYTHONPATH": str(clinics.folder / "late")}
    owners.append(clinics.join(2, *trusting))
    assert end(coordinator, *owners) == [0] * 5, clinics.read("coordinator") + clinics.read("owner-2")
    clinics.require_whole()
    began = [row.began for place in (0, 2) for row in list_runs(clinics, place)]
    assert 365 < (began[1] - began[0]) / 86400 < 367


@pytest.mark.parametrize(
    ("host", "begins", "trusted", "said", "heard"),
    [
        (
            "127.0.0.1",
            -1,
            "other",
            "the certificate is not trusted: give --ca-file FILE",
            "join with --ca-file",
        ),
        ("127.0.0.2", -1, "tls", "the certificate is another host's", "is for another host name"),
        (
            "127.0.0.1",
            -400,
            "tls",
            "the certificate is out of date: so this machine's clock",
            "correct the clock",
        ),
    ],
)
def test_a_certificate_that_is_wrong_is_one_sentence_on_both_screens(
    clinics, host, begins, trusted, said, heard
):
    for name in ("tls", "other"):
        self_signed(clinics.folder / name, address=host, begins=begins)
    serve(clinics)
    owner = clinics.join(0, "--ca-file", f"{trusted}/cert.pem")
    assert end(owner) == [2]
    assert [said in each for each in clinics.read("owner-0").split("error: ")[1:]] == [True]
    clinics.wait_for(lambda: "somebody could not join" in clinics.read("coordinator"))
    assert heard in clinics.read("coordinator")
    assert clinics.count_paid(0) == 0
