"""APIs that answer by jobs: asked after at public intervals, paid once, ended with the run, and never believed."""

from __future__ import annotations

import json
import re
import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pcevolve.auditing.capture import reconcile
from pcevolve.errors import EgressError, ProviderReplyError, ProviderUnreachableError, UnlistedHostError
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Sent
from pcevolve.wire.egress.allowance import Allowance
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from support.forge import faults_of
from support.paid import make_paid_run
from support.predictions import PLAN, JobProvider, Predictions, answer_with, is_poll, is_submission
from support.recorder import Recorded
from support.runs import ADDRESS, SmallRun, small_plan

CALLS = 16
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


class Killed(BaseException):
    """The end of the process, at which nothing more can be done."""


def run(root: Path, provider: JobProvider, **changes: object) -> SmallRun:
    waits = {name: changes.pop(name) for name in ("sleep", "allowance") if name in changes}
    made = SmallRun.open(root, small_plan(**{**PLAN, **changes}), provider, **waits)  # type: ignore[arg-type]
    if (
        changes.get("at_once", 1) != 1
    ):  # its pauses end when the run stops; here they are a hundred times as short
        replies = made.gate._replies
        shorter = lambda seconds: made.gate._window.pause(seconds / 100)  # noqa: E731
        replies.patience = replace(replies.patience, sleep=shorter)
    return made


def sent_slots(root: Path) -> list[str]:
    return [each.record.slot for each in RunReader.strict(root).entries if isinstance(each.record, Sent)]


def missing(root: Path) -> list[str]:
    return [slot for slot, made in RunReader.strict(root).outputs.items() if EMPTY in made]


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_job_is_asked_after_until_it_ends_and_costs_once(tmp_path, at_once):
    provider, waited = JobProvider(), list[float]()
    made = run(tmp_path, provider, at_once=at_once, sleep=waited.append, allowance=Allowance(price=0.25))
    made.finish()
    slots = sent_slots(tmp_path)
    assert [len(provider.submitted), sum("/job" in each for each in slots)] == [CALLS, 2 * CALLS]
    assert not provider.cancelled
    assert faults_of(tmp_path) == []
    assert made.gate._meter.known_cost == 0.25 * 2 * CALLS
    if at_once == 1:
        assert waited == [1.0, 2.0] * CALLS


def test_pauses_between_questions_grow_to_ten_seconds_and_a_job_without_an_end_is_given_up_within_an_hour(
    tmp_path,
):
    waited = list[float]()
    provider = JobProvider(never_ending(2))
    run(tmp_path, provider, sleep=waited.append).finish()
    long = [each for each in waited if each == 10.0]
    assert waited[4:9] == [1.0, 2.0, 4.0, 8.0, 10.0]
    assert 3500 < sum(waited[4 : 4 + 360]) <= 3600
    assert len(long) == 356
    assert provider.cancelled == [name_of(2)]
    assert len(missing(tmp_path)) == 1
    assert faults_of(tmp_path) == []


def name_of(number: int) -> str:
    return f"rrr4z55ocnee{number:014d}"


def of_job(number: int, act: Callable[[Outgoing], Incoming | None]) -> Callable[[Outgoing], Incoming | None]:
    """Answer every question after one job."""
    return lambda request: act(request) if is_poll(request) and name_of(number) in request.url else None


def never_ending(number: int) -> Callable[[Outgoing], Incoming | None]:
    return of_job(number, lambda request: answer_with({"id": name_of(number), "status": "processing"}))


def of_submission(number: int, payload: object) -> Callable[[Outgoing], Incoming | None]:
    """Answer a request that would begin the ``number``-th job, whenever it comes."""
    known: list[bytes] = []

    def act(request: Outgoing) -> Incoming | None:
        if not is_submission(request):
            return None
        if request.body not in known:
            known.append(request.body)
        return answer_with(payload, 201) if known.index(request.body) == number else None

    return act


def too_large(request: Outgoing) -> Incoming:
    raise ProviderReplyError("the API's answer is larger than 256 MiB")


ID = name_of(2)
HOSTILE: dict[str, tuple[Callable[[Outgoing], Incoming | None], bool]] = {
    "an id with a line break": (of_submission(2, {"id": "a\nHost: evil", "status": "starting"}), False),
    "an id that climbs": (of_submission(2, {"id": "../../v1/account", "status": "starting"}), False),
    "an id with a query": (of_submission(2, {"id": "a?b=c#d", "status": "starting"}), False),
    "an id of 100 KB": (of_submission(2, {"id": "a" * 10**5, "status": "starting"}), False),
    "no id": (of_submission(2, {"status": "starting"}), False),
    "a state of another job": (
        of_job(2, lambda request: answer_with({"id": name_of(0), "status": "succeeded", "output": []})),
        True,
    ),
    "a state that no API has": (
        of_job(2, lambda request: answer_with({"id": ID, "status": "napping"})),
        True,
    ),
    "a state that is no JSON": (of_job(2, lambda request: Incoming(200, (), b"<html>busy</html>")), True),
    "a state of 2 GB": (of_job(2, too_large), True),
    "a job that is unknown": (of_job(2, lambda request: answer_with({"detail": "no"}, 404)), True),
    "a job that failed": (of_job(2, lambda request: answer_with({"id": ID, "status": "failed"})), False),
    "a job that others ended": (
        of_job(2, lambda request: answer_with({"id": ID, "status": "canceled"})),
        False,
    ),
    "an end without images": (
        of_job(2, lambda request: answer_with({"id": ID, "status": "succeeded"})),
        False,
    ),
    "an end with words": (
        of_job(2, lambda request: answer_with({"id": ID, "status": "succeeded", "output": "a cat"})),
        False,
    ),
    "images of plain http": (
        of_job(
            2,
            lambda request: answer_with(
                {"id": ID, "status": "succeeded", "output": ["gopher://169.254.169.254/"]}
            ),
        ),
        False,
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_job_of_which_nothing_comes_is_a_missing_output_and_is_ended_where_it_may_go_on(tmp_path, case):
    meddle, goes_on = HOSTILE[case]
    provider = JobProvider(meddle)
    run(tmp_path, provider).finish()
    assert len(missing(tmp_path)) == 1
    assert provider.cancelled == ([ID] if goes_on else [])
    assert faults_of(tmp_path) == []
    for each in provider.requests:
        parts = urlsplit(each.url)
        if parts.netloc != "pictures.example":
            assert parts.netloc == "127.0.0.1:9"
            assert re.fullmatch(r"/v1/(account|predictions(/[A-Za-z0-9_-]{1,64}(/cancel)?)?)", parts.path)
            assert not parts.query


@pytest.mark.parametrize(
    "link",
    ["https://169.254.169.254/latest/meta-data", "https://evil.example/1.png", "https://127.0.0.1:9/x"],
)
def test_images_on_a_host_that_the_plan_does_not_name_are_not_fetched(tmp_path, link):
    done = {"id": name_of(2), "status": "succeeded", "output": [link]}
    provider = JobProvider(of_job(2, lambda request: answer_with(done)))
    with pytest.raises(UnlistedHostError, match="a host that this run may not fetch from"):
        run(tmp_path, provider).finish()
    assert link not in {each.url for each in provider.requests}


def test_a_state_that_flips_is_asked_after_until_it_is_an_end_and_the_end_stands(tmp_path):
    states = ("processing", "starting", "processing", "starting", "succeeded", "failed", "processing")
    provider = JobProvider(service=Predictions(states=states))
    run(tmp_path, provider).finish()
    assert missing(tmp_path) == []
    assert sum(map(is_poll, provider.requests)) == 4 * CALLS
    assert faults_of(tmp_path) == []


def test_a_name_that_looks_private_goes_back_to_where_it_came_from_and_nowhere_else(tmp_path):
    provider = JobProvider()
    service = provider.service
    begin = service._begin

    def rename(given):
        told = begin(given)
        name = f"patient-jane-doe_1970-{len(service.jobs)}"
        service.jobs[name] = service.jobs.pop(told["id"]) | {"id": name}
        return told | {"id": name}

    service._begin = rename
    run(tmp_path, provider).finish()
    naming = [each for each in provider.requests if "jane" in each.url or b"jane" in each.body]
    assert naming
    assert all(is_poll(each) for each in naming)
    assert faults_of(tmp_path) == []


def kill_at(number: int, provider: JobProvider, *, after: bool) -> Callable[[Outgoing], Incoming | None]:
    """End the process at a request: before the API has heard of it, or after."""

    def meddle(request: Outgoing) -> Incoming | None:
        if len(provider.requests) != number + 1:
            return None
        if after:
            provider.answer(request)
        raise Killed

    return meddle


@pytest.mark.parametrize("after", [False, True])
def test_wherever_a_process_is_killed_a_job_that_was_submitted_is_asked_after_and_not_submitted_again(
    tmp_path, after
):
    small = {"candidates": 2, "initial": 2}
    whole = JobProvider()
    run(tmp_path / "whole", whole, **small).finish()
    for number in range(1, len(whole.requests)):
        provider, root = JobProvider(), tmp_path / f"{number}"
        provider.meddle = kill_at(number, provider, after=after)
        with pytest.raises(Killed):
            run(root, provider, **small).finish()
        assert not provider.cancelled
        lost = provider.requests[-1]
        provider.meddle = lambda request: None
        run(root, provider, **small).finish()
        bodies = [each.body for each in provider.submitted]
        again = [each for each in set(bodies) if bodies.count(each) > 1]
        # Only that of which no answer came, as with every other API.
        assert again == ([lost.body] if is_submission(lost) else [])
        assert faults_of(root) == []
        assert missing(root) == []


def test_after_a_cut_at_any_line_with_several_under_way_every_answered_job_is_asked_after(tmp_path):
    provider = JobProvider()
    changes = {"candidates": 4, "initial": 4, "at_once": 4}
    run(tmp_path / "whole", provider, **changes).finish()
    lines = (tmp_path / "whole" / "transcript" / "log.jsonl").read_bytes().splitlines(keepends=True)
    begun = next(place for place, line in enumerate(lines) if b'"planned"' in line)
    for place in range(begun + 1, len(lines) - 1, 3):
        root = tmp_path / f"cut{place}"
        shutil.copytree(tmp_path / "whole", root)
        shutil.copytree(tmp_path / "whole-private", tmp_path / f"cut{place}-private")
        shutil.rmtree(root / "release")
        (root / "transcript" / "log.jsonl").write_bytes(b"".join(lines[:place]))
        answered = {
            each["slot"]
            for each in (json.loads(line)["event"] for line in lines[:place])
            if each["kind"] == "answered"
        }
        provider.requests.clear()
        again = run(root, provider, **changes)
        again.finish()
        assert len(provider.submitted) == len(set(again.plan.calls) - answered)
        assert faults_of(root) == []
        again.close()


def test_ctrl_c_ends_the_job_that_is_under_way_and_the_next_process_submits_it_anew(tmp_path):
    provider = JobProvider()

    def stop(request: Outgoing) -> Incoming | None:
        if is_poll(request) and name_of(2) in request.url:
            raise KeyboardInterrupt
        return None

    provider.meddle = stop
    first = run(tmp_path, provider)
    with pytest.raises(KeyboardInterrupt):
        first.evolve()
    first.close()
    assert provider.cancelled == [name_of(2)]
    assert sent_slots(tmp_path)[-2:] == [f"{first_calls(first)[2]}/job0", f"{first_calls(first)[2]}/cancel0"]
    # That it succeeds all the same changes nothing.
    provider.service.jobs[name_of(2)] |= {"status": "succeeded", "left": []}
    provider.meddle = lambda request: None
    run(tmp_path, provider).finish()
    assert len(provider.submitted) == CALLS + 1
    assert provider.cancelled == [name_of(2)]
    assert faults_of(tmp_path) == []


def first_calls(made: SmallRun) -> list[str]:
    return list(made.plan.calls)


def test_ctrl_c_ends_all_jobs_that_are_under_way_at_once(tmp_path):
    provider = JobProvider(service=Predictions(states=("starting", *["processing"] * 10**4)))
    all_there = threading.Barrier(4)

    def stop(request: Outgoing) -> Incoming | None:
        # The last of four to be asked after a second time presses the key.
        if is_poll(request) and provider.requests.count(request) == 2 and all_there.wait(60) == 0:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return None

    provider.meddle = stop
    first = run(tmp_path, provider, at_once=4, batch=1)
    with pytest.raises(KeyboardInterrupt):
        first.evolve()
    first.close()
    assert sorted(provider.cancelled) == [name_of(number) for number in range(4)]
    assert provider.closed
    provider.meddle, provider.closed = (lambda request: None), False
    provider.service.states = ("starting", "succeeded")
    run(tmp_path, provider, at_once=4, batch=1).finish()
    assert len(provider.cancelled) == 4
    assert faults_of(tmp_path) == []


def test_an_api_that_is_away_while_a_job_goes_on_stops_the_run_and_the_job_is_asked_after_later(tmp_path):
    def vanish(request: Outgoing) -> Incoming:
        raise ConnectionTroubleError("connection refused or no such host")

    provider = JobProvider(of_job(2, vanish))
    first = run(tmp_path, provider)
    with pytest.raises(ProviderUnreachableError, match="connection refused"):
        first.evolve()
    assert not provider.cancelled
    provider.meddle = lambda request: None
    run(tmp_path, provider).finish()
    assert len(provider.submitted) == CALLS
    assert faults_of(tmp_path) == []


@dataclass
class Past:
    """The way to the API passes the recorder; that to other hosts does not."""

    recorded: Recorded
    provider: JobProvider

    def send(self, request: Outgoing) -> Incoming:
        return (self.recorded if request.url.startswith(ADDRESS.base_url) else self.provider).send(request)

    def close(self) -> None:
        self.recorded.close()


@pytest.mark.parametrize(
    ("at_once", "case"), [(1, ""), (3, ""), (1, "a job that failed"), (1, "a job that is unknown")]
)
def test_a_capture_has_every_step_of_every_job(tmp_path, at_once, case):
    provider = JobProvider(HOSTILE[case][0]) if case else JobProvider()
    provider.service.states = ("starting", "succeeded")
    recorded = Recorded(provider, tmp_path / "capture.jsonl", ADDRESS.key or "", lambda request: "")
    small = {**PLAN, "at_once": at_once} | ({} if case else {"candidates": 4, "initial": 4})
    make_paid_run(tmp_path, small_plan(**small), Past(recorded, provider))
    found = reconcile(RunReader.strict(tmp_path), tmp_path / "capture.jsonl")
    assert [each.faults for each in found] == [(), (), (), ()]


def test_no_job_is_asked_after_once_the_plan_is_carried_out(tmp_path):
    made = run(tmp_path, JobProvider())
    made.finish()
    with pytest.raises(EgressError, match="nothing more is sent"):
        made.gate._exchange.announce("i000", made.gate._policy.greeting_request())
