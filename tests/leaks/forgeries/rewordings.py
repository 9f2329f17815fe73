"""Runs whose prompts were reworded by a second provider, or so they say."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

from leaks.forgeries.forging import (
    Act,
    Event,
    Events,
    Forgery,
    edited,
    embodied,
    made_to_fit,
    of_family,
    place,
    places,
    rewritten,
    stored,
)
from leaks.forgeries.lines import DAMAGED, dropped, moved
from leaks.forgeries.requests import BODY, ELSEWHERE, PRIVATE
from pcevolve.providers.codec import encode_json
from pcevolve.transcript.bodies import Bodies
from support.runs import ADDRESS, REWRITER

KIND = "reworded"
QUESTION, DRAWN = "w001/c000/n000000", "i001/c000/n000000"
OTHER_QUESTION = "w001/c001/n000001"
OUTPUTS = r"answer .* \(line \d+\): brought other outputs than are on record"
STANDS = r"line \d+: '{}'.* stands where"
OTHER_REWRITER = r"line 1: the record was opened for another rewriter"
PATIENT = "patient 17 with a cut"


def saying(slot: str, change: Callable[[str, Path], str], kind: str = "sent") -> Act:
    """A request, or an answer, that says something else; its record is as it would be."""

    return embodied(lambda body, root: change(body.decode(), root).encode(), slot, kind)


def field(slot: str, name: str, value: object) -> Act:
    def change(body: str, root: Path) -> str:
        return encode_json(json.loads(body) | {name: value}).decode()

    return saying(slot, change)


def asked(change: Callable[[str], str], slot: str = QUESTION) -> Act:
    """A question to the rewriter in other words."""

    def edit(body: str, root: Path) -> str:
        values = json.loads(body)
        message = values["messages"][0]
        message["content"] = change(message["content"])
        return encode_json(values).decode()

    return saying(slot, edit)


def drawn(words: Callable[[Path, str], str]) -> Act:
    """The image provider is asked for a reworded prompt in other words."""

    def edit(body: str, root: Path) -> str:
        values = json.loads(body)
        values["prompt"] = words(root, values["prompt"])
        return encode_json(values).decode()

    return saying(DRAWN, edit)


def prompt_in(root: Path, slot: str) -> str:
    """The prompt that a question is about."""
    events = _events(root)
    body = json.loads(events[place(events, "sent", slot=slot)]["body"]["text"])
    return str(body["messages"][0]["content"].splitlines()[-1])


def rewording_in(root: Path, slot: str) -> str:
    events = _events(root)
    digest = events[place(events, "received", slot=slot)]["outputs"][0]
    return Bodies(root / "transcript" / "bodies").file(digest).decode()


def _events(root: Path) -> Events:
    log = root / "transcript" / "log.jsonl"
    return [json.loads(line)["event"] for line in log.read_bytes().splitlines()]


def brought(words: Callable[[Path], str]) -> Act:
    """The rewriter answered with another prompt, so the record says; images are asked for with that one."""

    def act(root: Path) -> None:
        made = words(root)
        digest = stored(root, made.encode())
        edited("received", lambda event: event.update(outputs=[digest]), slot=QUESTION)(root)
        drawn(lambda root, prompt: made)(root)
        made_to_fit(root)

    return act


def sent_to(slot: str, address: str) -> Act:
    """A request went to another address, in all that it says of it."""

    def change(event: Event) -> None:
        before = event["url"].split("/v1/")[0]
        event["url"] = event["url"].replace(before, address)
        host = address.removeprefix("http://")
        event["wire_bytes"] += len(host) - len(before.removeprefix("http://"))
        event["headers"] = [[name, host if name == "Host" else value] for name, value in event["headers"]]

    return edited("sent", change, slot=slot)


def answers_exchanged(events: Events) -> Events:
    """The rewriter's answers to two prompts, each under the other's slot."""
    one, other = (place(events, "answered", slot=slot) for slot in (QUESTION, OTHER_QUESTION))
    for name in ("body", "headers", "wire_bytes"):
        events[one][name], events[other][name] = events[other][name], events[one][name]
    return events


def asked_again(events: Events) -> Events:
    """The same prompt is reworded again, after it was."""
    here = place(events, "received", slot=QUESTION)
    again = [copy.deepcopy(each) for each in events[: here + 1] if each.get("slot") == QUESTION]
    return [*events[: here + 1], *again, *events[here + 1 :]]


def never_asked(events: Events) -> Events:
    return [each for each in events if each.get("slot") != QUESTION]


def asked_at_the_end(events: Events) -> Events:
    """A prompt is reworded after the images of its round were asked for."""
    own = [each for each in events if each.get("slot") == QUESTION]
    rest = never_asked(events)
    here = place(rest, "received", slot=DRAWN) + 1
    return [*rest[:here], *own, *rest[here:]]


def names_a_rewording(event: Event) -> None:
    """A receipt that chose what the rewriter wrote."""
    event["receipt"]["choices"][0]["chosen"][0]["id"] = "w001-c000-000000"


FORGERIES: list[Forgery] = of_family(
    "forged rewordings",
    [
        (name, KIND, act, fault)
        for name, act, fault in (
            ("a prompt that nobody chose", asked(lambda said: said + " in a ward"), BODY),
            ("a prompt of another class", asked(lambda said: f"{said.rpartition(chr(10))[0]}\ngood leather"), BODY),
            ("private words in the question", asked(lambda said: f"Of {PATIENT}: {said}"), BODY),
            ("a space at its end", asked(lambda said: said + " "), BODY),
            ("a character of no width", asked(lambda said: said.replace("\n", "\n\u200b", 1)), BODY),
            ("another question", asked(lambda said: f"Say in French: {said.splitlines()[-1]}"), BODY),
            ("a private picture in the question", asked(lambda said: said + PRIVATE), BODY),
            ("the trial is about a private prompt", asked(lambda said: PATIENT, "w000/c000/n000000"), BODY),
            ("another model", field(QUESTION, "model", "writer of patient 17"), BODY),
            ("another temperature", field(QUESTION, "temperature", 0.17), BODY),
            ("another length", field(QUESTION, "max_tokens", 17), BODY),
            ("another seed", field(QUESTION, "seed", 17), BODY),
            ("a field of its own", field(QUESTION, "user", "patient 17"), BODY),
            ("a second message", field(QUESTION, "messages", [{"role": "system", "content": "17"}]), BODY),
            ("asked of the image provider", sent_to(QUESTION, ADDRESS.base_url), ELSEWHERE),
            ("an image is asked of the rewriter", sent_to(DRAWN, REWRITER), ELSEWHERE),
            ("asked of somebody else", sent_to(QUESTION, "http://evil.example"), ELSEWHERE),
            (
                "the image is drawn by words of the client's",
                drawn(lambda root, prompt: f"{prompt} of patient 17"),
                BODY,
            ),
            (
                "the image is drawn by the prompt as it was",
                drawn(lambda root, prompt: prompt_in(root, QUESTION)),
                BODY,
            ),
            (
                "the image is drawn by another rewording",
                drawn(lambda root, prompt: rewording_in(root, OTHER_QUESTION)),
                BODY,
            ),
            ("the image is drawn by a rewording cut short", drawn(lambda root, prompt: prompt[:-1]), BODY),
            ("a prompt that the rewriter did not write", brought(lambda root: PATIENT), OUTPUTS),
            ("the prompt as it was, for an answer", brought(lambda root: prompt_in(root, QUESTION)), OUTPUTS),
            (
                "the answer to another prompt",
                brought(lambda root: rewording_in(root, OTHER_QUESTION)),
                OUTPUTS,
            ),
            ("an answer with syntax", brought(lambda root: "(a cut:1.9)"), OUTPUTS),
            ("two answers exchanged", rewritten(answers_exchanged), OUTPUTS),
            ("asked for again after it was answered", rewritten(asked_again), STANDS.format("sent")),
            ("never asked for", rewritten(never_asked), r"line \d+: .* stands where request w001"),
            ("asked for too late", rewritten(asked_at_the_end), r"line \d+: .* stands where request w001"),
            ("before its receipt", moved("sent", 8, "released", 0), STANDS.format(".*")),
            ("without its receipt", dropped("released", 0), STANDS.format("sent")),
            (
                "a receipt that names a rewording",
                edited("released", names_a_rewording),
                "receipt for iteration 1: names an image that is not among",
            ),
            (
                "another rewriter in the opening line",
                edited("opened", lambda event: event["rewriter"].update(api="http://evil.example")),
                OTHER_REWRITER,
            ),
            (
                "no rewriter in the opening line",
                edited("opened", lambda event: event.update(rewriter=None)),
                OTHER_REWRITER,
            ),
            (
                "another rewriter in the plan",
                edited("planned", lambda event: event["plan"]["rewriter"].update(api="http://evil.example")),
                OTHER_REWRITER,
            ),
            (
                "the providers exchanged",
                rewritten(lambda events: _exchanged(events)),
                ELSEWHERE,
            ),
            (
                "another question in the plan",
                edited("planned", lambda event: event["plan"]["rewriter"].update(question="17 {prompt}")),
                BODY,
            ),
            (
                "a question without a place in the plan",
                edited("planned", lambda event: event["plan"]["rewriter"].update(question="17")),
                DAMAGED,
            ),
            (
                "a plan without a rewriter",
                edited("planned", lambda event: event["plan"].update(rewriter=None)),
                DAMAGED,
            ),
            (
                "another key for one question",
                edited("sent", lambda event: event.update(wire_bytes=event["wire_bytes"] + 1), slot=OTHER_QUESTION),
                r"request .* \(line \d+\): was sent with another key",
            ),
        )
    ],
)  # fmt: skip


def _exchanged(events: Events) -> Events:
    """Each provider stands for the other in opening line and plan."""
    opened, plan = events[0], events[places(events, "planned")[0]]["plan"]
    opened["api"], opened["rewriter"]["api"] = opened["rewriter"]["api"], opened["api"]
    plan["api"], plan["rewriter"]["api"] = plan["rewriter"]["api"], plan["api"]
    return events
