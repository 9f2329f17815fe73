"""Strangers at a coordinator's door: bounded in number, by address and in time, and never in place of an owner."""

from __future__ import annotations

import pytest

from pcevolve.wire.clinics.guests import Guests, name_address
from support.clock import Clock


class Hall:
    """Guests that are numbers, and who was sent away."""

    def __init__(self) -> None:
        self.clock, self.gone = Clock(), list[int]()
        self.guests = Guests(self.gone.append, self.clock)  # type: ignore[arg-type]

    def arrive(self, *numbers: int, host: str = "198.51.100.1") -> None:
        for number in numbers:
            self.guests.arrive(number, host)  # type: ignore[arg-type]


@pytest.fixture
def hall() -> Hall:
    return Hall()


def test_one_address_has_sixty_four_strangers_and_one_more_takes_the_place_of_its_oldest(hall):
    hall.arrive(1000, host="203.0.113.9")
    hall.arrive(*range(64))
    assert hall.gone == []
    hall.arrive(64, 65)
    assert hall.gone == [0, 1]
    assert len(hall.guests) == 65


def test_of_many_addresses_the_one_with_most_strangers_makes_room(hall):
    for place in range(191):
        hall.arrive(place, host=f"203.0.113.{place}")
    hall.arrive(191, host="203.0.113.77")
    hall.arrive(192, host="198.51.100.1")
    assert hall.gone == [77]
    hall.arrive(193, host="198.51.100.2")
    assert hall.gone == [77, 0]
    assert len(hall.guests) == 192


def test_an_owner_who_was_recognised_stays_whoever_comes_and_however_long_it_takes(hall):
    hall.arrive(7)
    hall.guests.recognise(7, 0)
    hall.arrive(*range(100, 300))
    hall.clock.now += 3600
    hall.guests.dismiss_late()
    assert 7 not in hall.gone
    assert len(hall.guests) == 1


def test_a_stranger_has_ten_seconds(hall):
    hall.arrive(1)
    hall.clock.now += 9
    hall.arrive(2)
    hall.guests.dismiss_late()
    assert hall.gone == []
    hall.clock.now += 2
    hall.guests.dismiss_late()
    assert hall.gone == [1]


def test_an_owner_has_four_connections_and_its_newest_stay(hall):
    for number in range(6):
        hall.arrive(number)
        hall.guests.recognise(number, 0)
    hall.arrive(6)
    hall.guests.recognise(6, 1)
    assert hall.gone == [0, 1]


def test_who_was_sent_away_or_left_is_not_recognised_and_counts_no_more(hall):
    hall.arrive(1)
    hall.guests.leave(1)
    hall.guests.leave(1)
    hall.guests.recognise(1, 0)
    hall.arrive(*range(100, 164))
    assert (hall.gone, len(hall.guests)) == ([], 64)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:0db8:0001:0002"),
        ("2001:db8:1:2::9", "2001:0db8:0001:0002"),
        ("fe80::1%eth0", "fe80:0000:0000:0000"),
    ],
)
def test_a_network_of_one_machine_is_one_address(host, address):
    assert name_address(host) == address
