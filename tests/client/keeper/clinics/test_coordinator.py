"""The coordinator's side without data: what it makes of a roster, and what it refuses."""

from __future__ import annotations

import pytest

from pcevolve.errors import ProtocolError, TranscriptError, UsageError
from pcevolve.keeper.clinics.coordinator import Coordinator, stand_in
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public import protocol
from pcevolve.public.clinics import messages
from pcevolve.public.transcript.reader import RunReader
from support.clinics import bring_together, make_clinics, write_roster

RUN_ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def side(tmp_path, clinics_api):
    (tmp_path / "run").mkdir()
    made = Coordinator(bring_together(tmp_path, clinics_api).run, OwnerScreen(quiet=True))
    made._padding.tick = 0.0
    return made


def test_its_data_are_the_rosters_classes_and_nothing_in_them(tmp_path):
    read = stand_in(write_roster(tmp_path / "roster.toml", make_clinics(2), ["zebra", "ant"]), "image")
    data = read.data
    assert read.noise_factor == 2**0.5
    assert data.labels == ("ant", "zebra")
    assert len(data) == 0
    assert data.privacy_units() == ()


def test_the_plan_names_the_owners_and_their_units_together(side):
    side.prepare(protocol.Prepare(run_id=RUN_ID))
    plan = side.settle(protocol.Settle()).plan
    assert plan.clinics == make_clinics(3, shots=3)
    assert plan.data.shots == 9
    assert plan.labels == ("type A", "type B")
    # Method and appearance were chosen for the noise that there will be.
    assert side.components.scope.noise_factor == 1.5**0.5


def test_a_run_begins_with_the_settled_plan_and_goes_on_from_release_to_release(tmp_path, clinics_api):
    made = bring_together(tmp_path, clinics_api, method="pe", appearance="matched", iterations=2)
    made.carry_out()
    assert [each.iteration for each in RunReader.strict(tmp_path / "run").receipts] == [0, 1, 2]


def test_nothing_is_released_but_what_owners_answered(side):
    with pytest.raises(ProtocolError, match="summed, not drawn"):
        side.release(protocol.Release(iteration=1, head="0" * 64))
    with pytest.raises(ProtocolError, match="before the run begins"):
        side.ask(messages.Ask(iteration=1, head="0" * 64))
    with pytest.raises(ProtocolError, match="before the run begins"):
        side.add(messages.Add(iteration=1, head="0" * 64))


def test_a_release_without_its_record_is_never_begun_again(side, tmp_path):
    (tmp_path / "run" / "release").mkdir()
    with pytest.raises(TranscriptError, match="but its record is missing"):
        side.prepare(protocol.Prepare(run_id=RUN_ID))


def test_a_roster_of_other_units_than_the_runs_is_refused_before_the_api_is_greeted(tmp_path, clinics_api):
    made = bring_together(tmp_path, clinics_api)
    write_roster(tmp_path / "roster.toml", make_clinics(3, shots=4), ["type A", "type B"])
    (tmp_path / "run").mkdir()
    with pytest.raises(UsageError, match="of all owners together"):
        Coordinator(made.run, OwnerScreen(quiet=True)).prepare(protocol.Prepare(run_id=RUN_ID))


def test_noise_from_a_seed_is_refused(tmp_path, clinics_api):
    with pytest.raises(UsageError, match="because the owners draw the noise"):
        Coordinator(bring_together(tmp_path, clinics_api, insecure_noise_seed=1).run, OwnerScreen(quiet=True))


@pytest.mark.parametrize(
    "option", [{"subsample": 9}, {"unit_map": "map.csv"}, {"unlabelled": True}, {"test": "somewhere"}]
)
def test_options_about_private_data_are_the_owners(tmp_path, clinics_api, option):
    with pytest.raises(UsageError, match="only the owners have"):
        bring_together(tmp_path, clinics_api, **option)
