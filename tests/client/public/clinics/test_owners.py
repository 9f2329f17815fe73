"""Owners of a release: who is refused, and what is left of the noise where all others collude."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from pcevolve.public.clinics.owners import ClinicOwner, Clinics, split_key
from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.privacy import FREE, Event
from support.clinics import make_clinics, make_key


def test_a_key_is_read_in_its_one_spelling():
    key = make_key(1).public
    signing, agreement = split_key(key)
    assert len(signing) == len(agreement) == 32
    assert signing != agreement
    for odd in (key[:-1], key + "=", key.replace("owner-1", "owner-2"), key.upper(), "", key + "\n"):
        with pytest.raises(ValueError, match="is no owner's key"):
            split_key(odd)


def test_a_statement_is_signed_by_the_half_of_the_key_that_signs():
    clinics = make_clinics(2)
    signature = make_key(2).signing.sign(b"said")
    assert clinics.has_signed(1, b"said", signature)
    assert not clinics.has_signed(0, b"said", signature)
    assert not clinics.has_signed(1, b"said otherwise", signature)
    assert not clinics.has_signed(2, b"said", signature)


def test_two_owners_are_never_one():
    one, other = (
        ClinicOwner(name=name, shots=10, key=make_key(place).public) for place, name in ((1, "A"), (2, "B"))
    )
    assert Clinics(owners=(one, other)).honest == 1
    with pytest.raises(ValidationError, match="the same name"):
        Clinics(owners=(one, other.model_copy(update={"name": "A"})))
    with pytest.raises(ValidationError, match="the same key"):
        Clinics(owners=(one, other.model_copy(update={"key": one.key})))
    with pytest.raises(ValidationError, match="at least 2"):
        Clinics(owners=(one,))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("colluding", 2, "of 2 owners at most 1 can collude"),
        ("colluding", -1, "colluding"),
        ("holders", 0, "holders"),
        ("holders", 3, "holders: there are 2 owners"),
    ],
)
def test_numbers_of_owners_that_there_are_not_are_refused(field, value, said):
    with pytest.raises(ValidationError, match=said):
        make_clinics(2, **{field: value})


def test_who_trusts_nobody_has_the_noise_of_one_share():
    # sigma is z = 6 sensitivities; of four owners with one colluder each adds sigma / sqrt(3).
    left = make_clinics(4).weaken(Event("gaussian", "6", 2))
    assert left.count == 2
    assert float(left.value) == pytest.approx(6 / math.sqrt(3), rel=1e-9)
    assert left.value < 6 / math.sqrt(3)
    assert epsilon([left], 1e-5) > epsilon([Event("gaussian", "6", 2)], 1e-5)
    assert make_clinics(4).weaken(FREE) == FREE


def test_noise_for_a_unit_at_several_owners_protects_one_owners_part_the_better():
    event = Event("gaussian", "6")
    assert float(make_clinics(4, holders=2).weaken(event).value) == pytest.approx(
        2 * 6 / math.sqrt(3), rel=1e-9
    )


def test_all_owners_add_their_share_and_the_honest_ones_would_be_enough():
    assert make_clinics(4).noise_factor == math.sqrt(4 / 3)
    assert make_clinics(4, colluding=0).noise_factor == 1.0
    assert make_clinics(3, colluding=2, holders=2).noise_factor == 2 * math.sqrt(3)


def test_where_all_others_may_collude_nothing_more_is_lost_than_is_promised():
    assert float(make_clinics(4, colluding=3).weaken(Event("gaussian", "6")).value) == pytest.approx(
        6, rel=1e-9
    )


def test_the_digest_covers_everything():
    told = {make_clinics(2).digest, make_clinics(3).digest, make_clinics(3, colluding=2).digest}
    told |= {make_clinics(3, holders=2).digest, make_clinics(3, shots=11).digest}
    assert len(told) == 5
