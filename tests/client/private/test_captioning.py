"""The judge of GCap: whose images are captioned, how often, and what the ledger knows before anybody looks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pcevolve.dp.mechanisms import SecureNoise
from pcevolve.errors import BudgetError, ProviderUnreachableError
from pcevolve.ledger.ledger import Ledger, Limits, PrivateUnit, Terms
from pcevolve.modality.medium import Item
from pcevolve.privacy import Budget, Event
from pcevolve.private.captioning import CaptioningJudge
from pcevolve.private.dataset import PrivateDataset
from pcevolve.public.captioning import NOTHING_SAID, captions_in
from pcevolve.public.release import Query
from support.captioned import Saying, captioned_plan, open_captioned
from support.noised import private_images

PLAN = captioned_plan()
ASKED = Query(PLAN.run_id, 1)


class Sizes:
    """Says how wide an image is."""

    def captions(self, images: Sequence[Item]) -> list[str]:
        return [f"{each.width} wide" for each in images]


def released(root: Path, captioner: object, shots: int = 3) -> tuple[tuple[str, ...], ...]:
    run = open_captioned(root, PLAN, captioner=captioner, shots=shots)
    run.judge.release(ASKED, None)
    return captions_in(run.account.measured(1), 2, 2)


def test_as_many_images_of_each_class_are_shown_as_the_plan_says_and_no_more(tmp_path: Path):
    saying = Saying(["a cut", "a long cut"])
    assert released(tmp_path, saying) == (("a cut", "a long cut"),) * 2
    assert saying.asked == [2, 2]


def test_where_a_class_has_fewer_images_their_captions_are_used_again(tmp_path: Path):
    assert released(tmp_path, Saying(["a cut"]), shots=1) == (("a cut", "a cut"),) * 2


def test_a_class_without_images_is_said_to_be_nothing(tmp_path: Path):
    saying = Saying(["a cut"])
    assert released(tmp_path, saying, shots=0) == ((NOTHING_SAID,) * 2,) * 2


def test_an_image_is_shown_and_nothing_else_of_the_data(tmp_path: Path):
    assert released(tmp_path, Sizes()) == (("24 wide", "24 wide"),) * 2


def test_of_a_patient_one_image_is_captioned(tmp_path: Path):
    run = open_captioned(tmp_path, PLAN)
    data = private_images(PLAN.labels)
    of_patients = PrivateDataset(
        data.labels,
        data.items,
        data.targets,
        data.digests,
        np.array([0, 0, 0, 1, 1, 1]),
        "patient",
        ("a", "b"),
    )
    saying = Saying(["a cut"])
    judge = CaptioningJudge(of_patients, run.account, SecureNoise(), PLAN, Event("unprotected"), saying)
    judge.release(ASKED, None)
    assert saying.asked == [1, 1]


class Gone:
    """A captioner that breaks off after it was shown images."""

    def captions(self, images: Sequence[Item]) -> list[str]:
        raise ProviderUnreachableError("http://127.0.0.1:9: the connection broke")


def test_a_captioner_that_breaks_off_has_been_shown_images_and_the_ledger_knows_it(tmp_path: Path):
    run = open_captioned(tmp_path, PLAN, captioner=Gone())
    with pytest.raises(ProviderUnreachableError):
        run.judge.release(ASKED, None)
    assert run.account.receipts() == ()
    run.close()
    limits = Limits(Budget(1, 1e-5), Budget(1, 1e-5))
    with closing(Ledger(tmp_path / "private" / "ledger.sqlite")) as ledger:
        later = ledger.account("b" * 32, [PrivateUnit((b"unit 1",))], "replace-one", limits, terms=Terms())
        with pytest.raises(BudgetError, match="a NOT PRIVATE run used these data"):
            later.require([Event("gaussian", "9")])
        assert [row.epsilon for row in ledger.runs()] == [np.inf]


def test_the_ledger_is_not_held_while_images_are_shown(tmp_path: Path):
    run = open_captioned(tmp_path, PLAN)

    class Asking:
        """Asks the ledger, as another run would, while it is shown images."""

        def captions(self, images: Sequence[Item]) -> list[str]:
            limits = Limits(Budget(1, 1e-5), Budget(1, 1e-5))
            with closing(Ledger(tmp_path / "private" / "ledger.sqlite")) as ledger:
                ledger.account("b" * 32, [PrivateUnit((b"other",))], "replace-one", limits).enrol()
            return ["a cut"] * len(images)

    judge = CaptioningJudge(
        private_images(PLAN.labels), run.account, SecureNoise(), PLAN, Event("unprotected"), Asking()
    )
    assert judge.release(ASKED, None).events == (Event("unprotected"),)
    assert repr(judge) == "CaptioningJudge"
