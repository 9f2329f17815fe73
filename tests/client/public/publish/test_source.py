"""A release that another run starts from, and what its plan says of it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

import pcevolve
from pcevolve.public.publish.source import SourceRun
from support.paid import make_paid_run
from support.provider import png
from support.runs import small_plan

ORIGIN = "the images that this run varies come from a run that passes its audit"


def vary(native, tmp_path, **changes: object) -> pcevolve.Result:
    given = {"candidates": 7, "out": tmp_path / "more", "quiet": True, "yes": True}
    return pcevolve.vary(tmp_path / "run", **given | changes)  # type: ignore[arg-type]


def doubts(audited: pcevolve.AuditResult) -> list[str]:
    """Verdicts of the claim about what is varied."""
    (found,) = [each for each in audited.findings if each.claim == ORIGIN]
    return [*found.faults, *filter(None, [found.unchecked])]


def lies(**changes: object):
    """A release as an owner would have it who says something else of it."""
    honest = SourceRun.describe
    return lambda self, strength: honest(self, strength).model_copy(update=changes)


@pytest.mark.parametrize("lie", ["no cost", "an image that no release chose", "no noise from a seed"])
def test_an_auditor_who_has_the_run_finds_what_an_owner_says_otherwise(
    evolved, native, tmp_path, monkeypatch, lie
):
    seeded = {"insecure_noise_seed": 3} if lie == "no noise from a seed" else {}
    source = evolved(method="pe", delta=1e-5, candidates=2, **seeded)
    with monkeypatch.context() as lying:
        if lie == "no cost":
            lying.setattr(SourceRun, "describe", lies(events=()))
        elif lie == "no noise from a seed":
            plan = source.plan.model_copy(update={"noise": "os-csprng"})
            honest = SourceRun.at.__func__
            lying.setattr(
                SourceRun,
                "at",
                classmethod(
                    lambda cls, root: replace(found := honest(cls, root), run=replace(found.run, plan=plan))
                ),
            )
        else:
            shown = honest_images(source, png(77))
            lying.setattr(SourceRun, "describe", lies(images=shown))
            lying.setattr(SourceRun, "at", at_with(source, png(77)))
        made = vary(native, tmp_path)
    assert doubts(made.verify())[0].startswith(
        "the run that released these images, and its epsilon, cannot be checked"
    )
    audited = made.verify(sources=[source.folder])
    assert not audited
    told = {
        "no cost": "the plan names other images, or another cost, than the release has",
        "an image that no release chose": "the plan names other images, or another cost, than the release has",
        "no noise from a seed": "the plan has another noise than the run of the release",
    }
    assert told[lie] in doubts(audited)


def honest_images(source: pcevolve.Result, other: bytes) -> tuple[tuple[str, ...], ...]:
    digests = SourceRun.at(source.folder).describe(None).images
    return ((hashlib.sha256(other).hexdigest(), *digests[0][1:]), *digests[1:])


def at_with(source: pcevolve.Result, other: bytes):
    honest = SourceRun.at(source.folder)
    files = ((other, *honest.files[0][1:]), *honest.files[1:])
    return classmethod(lambda cls, root: replace(honest, files=files))


def test_a_source_has_the_images_of_each_class_and_differs_from_no_plan_that_names_them(tmp_path: Path):
    source = SourceRun.at(make_paid_run(tmp_path / "run", small_plan()))
    released = [
        [path.read_bytes() for path in sorted((tmp_path / "run" / "release" / label).iterdir())]
        for label in ("cut", "good")
    ]
    assert [sorted(of_class) for of_class in source.files] == [sorted(of_class) for of_class in released]
    plan = source.run.plan
    for strength in (None, 0.5):
        named = plan.model_copy(update={"start": source.describe(strength)})
        assert list(source.find_differences(named)) == []
    (told,) = source.find_differences(plan)
    assert told.startswith("the plan names other images")
