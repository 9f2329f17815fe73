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
    events_of,
    forged,
    made_to_fit,
    place,
    places,
    respelt,
    rewritten,
    sent_with,
    stored,
)
from leaks.forgeries.lines import DAMAGED, KEY, dropped, more_bytes, moved, stands
from leaks.forgeries.requests import BODY, ELSEWHERE, OUTPUTS, PRIVATE, answers_exchanged
from pcevolve.transcript.bodies import Bodies
from support.runs import ADDRESS, REWRITER

KIND = "reworded"
QUESTION, DRAWN = "w001/c000/n000000", "i001/c000/n000000"
OTHER_QUESTION = "w001/c001/n000001"
OTHER_REWRITER = r"line 1: the record was opened for another rewriter"
PATIENT = "patient 17 with a cut"


def asked(change: Callable[[str], str], slot: str = QUESTION) -> Act:
    """A question to the rewriter in other words."""

    def edit(values: dict, root: Path) -> None:
        message = values["messages"][0]
        message["content"] = change(message["content"])

    return respelt(edit, slot)


def drawn(words: Callable[[Path, str], str]) -> Act:
    """The image provider is asked for a reworded prompt in other words."""
    return respelt(lambda values, root: values.update(prompt=words(root, values["prompt"])), DRAWN)


def prompt_in(root: Path, slot: str) -> str:
    """The prompt that a question is about."""
    events = events_of(root)
    body = json.loads(events[place(events, "sent", slot=slot)]["body"]["text"])
    return str(body["messages"][0]["content"].splitlines()[-1])


def rewording_in(root: Path, slot: str) -> str:
    events = events_of(root)
    digest = events[place(events, "received", slot=slot)]["outputs"][0]
    return Bodies(root / "transcript" / "bodies").file(digest).decode()


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


def asked_again(events: Events) -> Events:
    """A prompt that was reworded is reworded again."""
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


def exchanged(events: Events) -> Events:
    """Each provider stands for the other in opening line and plan."""
    opened, plan = events[0], events[places(events, "planned")[0]]["plan"]
    opened["api"], opened["rewriter"]["api"] = opened["rewriter"]["api"], opened["api"]
    plan["api"], plan["rewriter"]["api"] = plan["rewriter"]["api"], plan["api"]
    return events


def exchanged_answers(events: Events) -> Events:
    return answers_exchanged(
        events, *(place(events, "answered", slot=slot) for slot in (QUESTION, OTHER_QUESTION))
    )


def planned(**changes: object) -> Act:
    return edited("planned", lambda event: event["plan"]["rewriter"].update(changes))


EVIL = {"api": "http://evil.example"}
PROMPTS = {
    "a prompt that nobody chose": asked(lambda said: said + " in a ward"),
    "a prompt of another class": asked(lambda said: f"{said.rpartition(chr(10))[0]}\ngood leather"),
    "private words in the question": asked(lambda said: f"Of {PATIENT}: {said}"),
    "a space at its end": asked(lambda said: said + " "),
    "a character of no width": asked(lambda said: said.replace("\n", "\n\u200b", 1)),
    "another question": asked(lambda said: f"Say in French: {said.splitlines()[-1]}"),
    "a private picture in the question": asked(lambda said: said + PRIVATE),
    "the trial is about a private prompt": asked(lambda said: PATIENT, "w000/c000/n000000"),
    "another model": sent_with(QUESTION, model="writer of patient 17"),
    "another temperature": sent_with(QUESTION, temperature=0.17),
    "another length": sent_with(QUESTION, max_tokens=17),
    "another seed": sent_with(QUESTION, seed=17),
    "a field of its own": sent_with(QUESTION, user="patient 17"),
    "a second message": sent_with(QUESTION, messages=[{"role": "system", "content": "17"}]),
    "the image is drawn by words of the client's": drawn(lambda root, prompt: f"{prompt} of patient 17"),
    "the image is drawn by the prompt as it was": drawn(lambda root, prompt: prompt_in(root, QUESTION)),
    "the image is drawn by another rewording": drawn(lambda root, prompt: rewording_in(root, OTHER_QUESTION)),
    "the image is drawn by a rewording cut short": drawn(lambda root, prompt: prompt[:-1]),
    "another question in the plan": planned(question="17 {prompt}"),
}
ADDRESSES = {
    "asked of the image provider": sent_to(QUESTION, ADDRESS.base_url),
    "an image is asked of the rewriter": sent_to(DRAWN, REWRITER),
    "asked of somebody else": sent_to(QUESTION, "http://evil.example"),
    "the providers exchanged": rewritten(exchanged),
}
ANSWERS = {
    "a prompt that the rewriter did not write": brought(lambda root: PATIENT),
    "the prompt as it was, for an answer": brought(lambda root: prompt_in(root, QUESTION)),
    "the answer to another prompt": brought(lambda root: rewording_in(root, OTHER_QUESTION)),
    "an answer with syntax": brought(lambda root: "(a cut:1.9)"),
    "two answers exchanged": rewritten(exchanged_answers),
}
OTHERS: dict[str, tuple[Act, str]] = {
    "asked for again after it was answered": (rewritten(asked_again), stands("'sent'.*", "")),
    "never asked for": (rewritten(never_asked), stands(".*", "request w001")),
    "asked for too late": (rewritten(asked_at_the_end), stands(".*", "request w001")),
    "before its receipt": (moved("sent", 8, "released", 0), stands(".*", "")),
    "without its receipt": (dropped("released", 0), stands("'sent'.*", "")),
    "a receipt that names a rewording": (
        edited("released", names_a_rewording),
        "receipt for iteration 1: names an image that is not among",
    ),
    "another rewriter in the opening line": (
        edited("opened", lambda event: event["rewriter"].update(EVIL)),
        OTHER_REWRITER,
    ),
    "no rewriter in the opening line": (
        edited("opened", lambda event: event.update(rewriter=None)),
        OTHER_REWRITER,
    ),
    "another rewriter in the plan": (planned(**EVIL), OTHER_REWRITER),
    "a question without a place in the plan": (planned(question="17"), DAMAGED),
    "a plan without a rewriter": (
        edited("planned", lambda event: event["plan"].update(rewriter=None)),
        DAMAGED,
    ),
    "another key for one question": (edited("sent", more_bytes(1), slot=OTHER_QUESTION), KEY),
}
FORGERIES: list[Forgery] = [
    *forged("forged rewordings", PROMPTS, KIND, fault=BODY),
    *forged("forged rewordings", ADDRESSES, KIND, fault=ELSEWHERE),
    *forged("forged rewordings", ANSWERS, KIND, fault=OUTPUTS),
    *forged("forged rewordings", OTHERS, KIND),
]
