"""The judge: chooses what the private data prefer, pays, and says nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import BudgetError, DataError
from pcevolve.keeper.ledger.ledger import Account, Ledger, Limits
from pcevolve.keeper.private.dataset import PrivateDataset, load
from pcevolve.keeper.private.judge import PrivateJudge, PrivateViews, UniformJudge, embed_images
from pcevolve.keeper.private.listing import list_folder
from pcevolve.public.dp.mechanisms import SecureNoise
from pcevolve.public.encoders import load_encoder
from pcevolve.public.geometry.frame import Frame
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.media.images.appearance import AS_IS, MATCHED, MIDDLE, Appearance, measure_appearances
from pcevolve.public.methods import choose_delta
from pcevolve.public.privacy import FREE, Budget, Event
from pcevolve.public.release import Candidate, Query
from pcevolve.public.selectors import METHODS, find_method
from pcevolve.public.selectors.choosing import Chooser, choose_renditions
from pcevolve_shared import images
from support.folders import class_folders
from support.neighbours import Observer
from support.runs import small_plan

RUN = "0" * 32


class MeanColour:
    """An encoder that a person can follow: the mean of each channel."""

    name = "mean-colour"
    dimension = 3
    frame = None

    def __init__(self) -> None:
        self.calls = 0

    def embed(self, pictures):
        self.calls += 1
        rows = [
            np.full(3, np.nan) if p is None else np.asarray(p, dtype=float).mean((0, 1)) for p in pictures
        ]
        return np.array(rows)


def plain(colour: tuple[int, int, int]) -> Image.Image:
    image = Image.new("RGB", (8, 8), colour)
    image.putpixel((0, 0), (0, 0, 0))  # of one colour it could not be used
    return image


RED, GREEN, BLUE = (250, 0, 0), (0, 250, 0), (0, 0, 250)
DATA = PrivateDataset(
    labels=("green", "red"),
    items=tuple(plain(c) for c in (GREEN, (0, 230, 0), RED, (230, 0, 0))),
    targets=np.array([0, 0, 1, 1]),
    digests=(b"a", b"b", b"c", b"d"),
)
BYTES = {
    "red": images.encode(plain((240, 0, 0))),
    "blue": images.encode(plain(BLUE)),
    "green": images.encode(plain((0, 240, 0))),
    "junk": b"not an image",
}


def candidates(label: str, iteration: int = 0) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, label, iteration, None, name) for name in BYTES)


POOL = Pool({label: candidates(label) for label in DATA.labels})


def account(path: Path, epsilon: int = 10_000, delta: float = 0.0) -> Account:
    limit = Budget(Fraction(epsilon), delta)
    ledger = Ledger(path / "ledger.sqlite")
    return ledger.account(RUN, DATA.privacy_units(), "replace-one", Limits(limit)).enrol()


def judge(
    path: Path, epsilon: int, name: str = "pcevolve", encoder: MeanColour | None = None, **plan
) -> PrivateJudge:
    chosen = find_method(name)
    public = small_plan(
        run_id=RUN,
        method=name,
        labels=DATA.labels,
        epsilon=str(epsilon),
        delta=choose_delta(name),
        shots=2,
        **plan,
    )
    encoder = encoder or MeanColour()
    return PrivateJudge(
        views=PrivateViews(DATA, encoder),
        chooser=Chooser(public, encoder, BYTES.__getitem__, chosen.make_selector()),
        account=account(path, delta=choose_delta(name)),
        noise=SecureNoise(),
        events=chosen.plan_events(public),
    )


def chosen(receipt, label: str) -> list[str]:
    return [each.id for each in receipt.of(label)]


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.queries_data])
def test_with_a_large_budget_every_method_chooses_the_most_similar_candidate_of_each_class(tmp_path, name):
    receipt = judge(tmp_path, 8000, name).release(Query(RUN, 1), POOL)
    assert (chosen(receipt, "red"), chosen(receipt, "green")) == (["red"], ["green"])
    assert receipt.relation == "replace-one"


def test_a_paid_query_is_answered_without_looking_again(tmp_path):
    first = judge(tmp_path, 1000).release(Query(RUN, 1), POOL)
    encoder = MeanColour()
    assert judge(tmp_path, 1000, encoder=encoder).release(Query(RUN, 1), POOL) == first
    assert encoder.calls == 0


def test_later_rounds_and_the_dataset_follow_from_what_was_measured_once(tmp_path):
    shape = {"pool": "all", "keep": "selected", "candidates": 2, "initial": 4}
    first = judge(tmp_path, 5000, "dp-means", **shape).release(Query(RUN, 1), POOL)
    assert not first.events[0].free
    forgetful = dataclasses.replace(DATA, items=tuple(plain(BLUE) for _ in DATA.items))
    for iteration, wanted in ((2, 1), (3, 2)):
        again = judge(tmp_path, 5000, "dp-means", **shape)
        again = dataclasses.replace(again, views=PrivateViews(forgetful, MeanColour()))
        receipt = again.release(Query(RUN, iteration), POOL)
        assert receipt.events == (FREE,)
        assert chosen(receipt, "red")[0] == "red"
        assert len(chosen(receipt, "red")) == wanted


@pytest.mark.parametrize(("pool", "again"), [("latest", 1), ("all", 0)])
def test_candidates_that_will_not_be_shown_again_are_forgotten(tmp_path, pool: str, again: int):
    encoder = MeanColour()
    chooser = judge(tmp_path, 8000, "pe", encoder, pool=pool).chooser
    first, second = (
        Pool({label: tuple(c for c in candidates(label) if c.id in names) for label in DATA.labels})
        for names in (("red", "green"), ("red", "blue"))
    )
    looks = []
    for shown in (first, first, second, first):
        before = encoder.calls
        chooser.find_inputs(1, shown, choose_renditions(chooser.plan, None))
        looks.append(encoder.calls - before)
    assert looks == [1, 0, 1, again], "of a pool that is shown twice nothing is embedded twice"


def test_what_is_public_is_done_before_the_release_which_a_provider_cannot_time(tmp_path, monkeypatch):
    shape = {"pool": "all", "keep": "selected", "candidates": 2, "initial": 4, "centre_first": True}
    asked = judge(tmp_path, 5000, "dp-means", **shape)
    asked.show(Query(RUN, 1), POOL)

    def late(*given: object) -> None:
        raise AssertionError("public work in a private section")

    monkeypatch.setattr(Frame, "of", late)
    monkeypatch.setattr(asked.chooser.encoder, "embed", late)
    monkeypatch.setattr(Chooser, "_make_inputs", late)
    views = dataclasses.replace(asked.views, encoder=MeanColour())
    assert dataclasses.replace(asked, views=views).release(Query(RUN, 1), POOL).events


PALE = (200, 250, 200)
AUTO = {"pool": "all", "keep": "selected", "candidates": 2, "initial": 4, "appearance": "auto"}


def settle_rounds(path: Path, colours: list[tuple[int, int, int]]) -> list[tuple[float, ...]]:
    """Receipts of two rounds on private images of these colours: the look of the candidates."""
    data = dataclasses.replace(DATA, items=tuple(plain(colour) for colour in colours))
    path.mkdir()
    answered = {**BYTES, "green": images.encode(plain(PALE))}
    asked = judge(path, 8000, "dp-means", **AUTO)
    shown = dataclasses.replace(asked.chooser, received=answered.__getitem__)
    asked = dataclasses.replace(asked, views=PrivateViews(data, MeanColour()), chooser=shown)
    return [asked.release(Query(RUN, t), POOL).values for t in range(3)][1:]


def test_candidates_take_on_the_appearance_of_the_private_images_only_where_that_is_nearer(tmp_path):
    assert settle_rounds(tmp_path / "pale", [PALE, PALE, RED, RED]) == [AS_IS] * 2
    assert settle_rounds(tmp_path / "grey", [(grey,) * 3 for grey in (70, 75, 80, 85)]) == [MATCHED] * 2


def test_without_budget_or_an_embedding_of_a_private_image_nothing_is_drawn(tmp_path):
    with pytest.raises(BudgetError, match="nothing was drawn"):
        judge(tmp_path, 100_000).release(Query(RUN, 1), POOL)
    blind = MeanColour()
    blind.embed = lambda pictures: np.full((len(pictures), 3), np.nan)
    with pytest.raises(DataError, match="cannot embed a private image"):
        judge(tmp_path, 1, encoder=blind).release(Query(RUN, 1), POOL)
    assert account(tmp_path).receipts() == ()


def test_the_control_chooses_without_looking_and_none_twice(tmp_path):
    plan = small_plan(run_id=RUN, labels=DATA.labels, candidates=4, prototypes=4)
    receipt = UniformJudge(account(tmp_path), SecureNoise(), plan).release(Query(RUN, 1), POOL)
    assert receipt.events == (Event("uniform"),)
    assert sorted(chosen(receipt, "red")) == sorted(chosen(receipt, "green")) == sorted(BYTES)


def test_the_control_chooses_nothing_that_was_withheld_while_anything_came(tmp_path):
    plan = small_plan(run_id=RUN, labels=DATA.labels, candidates=4, prototypes=4)
    empty = sha256(b"").hexdigest()
    red, green = POOL.candidates["red"], POOL.candidates["green"]
    gone = [dataclasses.replace(each, digest=empty) for each in green]
    pool = dataclasses.replace(POOL, candidates={"red": (gone[0], *red[1:]), "green": tuple(gone)})
    receipt = UniformJudge(account(tmp_path), SecureNoise(), plan).release(Query(RUN, 1), pool)
    assert {each.digest for each in receipt.of("red")} == {each.digest for each in red[1:]}
    assert {each.digest for each in receipt.of("green")} == {empty}


@pytest.mark.parametrize("units", [(0, 1, 2, 3), (0, 0, 0, 1)], ids=["images", "patients"])
def test_what_is_released_of_the_appearance_is_a_mean_over_privacy_units(tmp_path, units):
    asked, noise = judge(tmp_path, 8000, "dp-means", **AUTO), Observer()
    data = dataclasses.replace(DATA, unit_of=np.array(units))
    asked = dataclasses.replace(asked, views=PrivateViews(data, MeanColour()), noise=noise)
    released = Appearance.released(asked.release(Query(RUN, 0), POOL).values)
    looks = measure_appearances(DATA.items)
    by_unit = [looks[data.unit_of == unit].mean(axis=0) for unit in set(units)]
    ((_, hidden, _),) = noise.asked
    assert hidden == pytest.approx(np.sum([each - MIDDLE for each in by_unit], axis=0), abs=1e-6)
    if len(by_unit) == 4:  # as many units as the shots of two classes
        assert released.vector == pytest.approx(np.mean(by_unit, axis=0), abs=0.01)


def test_a_selector_is_shown_whose_each_image_is_and_what_secrets_leave_of_its_vote():
    caps = np.array([1.0, 0.5, 0.0, 1.0])
    data = dataclasses.replace(DATA, unit_of=np.array([0, 1, 1, 0]))
    shown = PrivateViews(data, MeanColour(), caps=caps).embeddings(None)
    assert (shown.units.tolist(), shown.targets.tolist()) == ([0, 1, 1, 0], [0, 0, 1, 1])
    assert shown.capped.tolist() == caps.tolist()


LOOK = Appearance(0.2, 0.7, 0.5, 0.4, 0.5, 0.5)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(list_folder(class_folders(tmp_path_factory.mktemp("data"), 5, shots=5)), keep=0)


@pytest.mark.models
@pytest.mark.parametrize("rendition", [None, LOOK])
def test_batches_of_stored_images_are_embedded_as_all_at_once_in_memory_and_progress_is_told(
    data, rendition, monkeypatch
):
    monkeypatch.setattr("pcevolve.keeper.private.judge.BATCH_IMAGES", 3)
    encoder, said = load_encoder("bundled"), []
    views = PrivateViews(data, encoder)
    found = views.embeddings(rendition, lambda done, total: said.append((done, total))).embeddings
    shown = [image if rendition is None else rendition.apply_to(image) for image in data.items]
    assert np.array_equal(found, encoder.embed(shown))
    assert said == [(3, 10), (6, 10), (9, 10), (10, 10)]


@dataclass(frozen=True)
class Numbers:
    """An encoder that shows numbers as they are."""

    name: str = "numbers"
    dimension: int = 1
    frame: None = None

    def embed(self, items: Sequence[float]) -> np.ndarray:
        return np.array([[each] for each in items])


@pytest.mark.parametrize(
    ("numbers", "kept"),
    [
        ([0.5, 2.0**100, float("nan"), -0.0], np.float32),
        ([0.5, 0.25, 0.1, 0.5], np.float64),
        ([1e-60, 0.5, 0.25, 1], np.float64),
        ([1e60, 0.5, 0.25, 1], np.float64),
    ],
)
def test_embeddings_take_half_the_memory_where_that_changes_none(numbers, kept, monkeypatch):
    monkeypatch.setattr("pcevolve.keeper.private.judge.BATCH_IMAGES", 1)
    rows = embed_images(numbers, Numbers(), None, lambda done, total: None)
    assert rows.dtype == kept
    assert np.array_equal(rows[:, 0], numbers, equal_nan=True)
