"""A second, small check of what left, which shares no code with rulebook, gate, loop or dialects but for three readers.

Each request of the plan carries no image, or exactly one that had come from the API before, under an id that the public
plan names or that the receipt of its class and round chose. Everything else in its body is one of the values that the
plan has for the call, under a name that is known here; nothing in it is free. Texts are images to this check. Both use
pure functions for which words are blank (``blank_out``) and what an answer says (``read_answer``).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import gcd
from typing import Any, Final, NamedTuple

from pcevolve.modality.answering import read_answer
from pcevolve.modality.texts import blank_out, read_text
from pcevolve.public.answers import strip_mark
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import WITHHELD, Receipt
from pcevolve.transcript import RunReader
from pcevolve.transcript.bodies import Bodies
from pcevolve.transcript.records import (
    BALANCE_SLOT,
    GREETING_SLOT,
    TRIAL_SLOT,
    Answered,
    Received,
    Released,
    Sent,
    planned_slot,
)

_IMAGE: Final = re.compile(r"(?:data:image/[a-z]+;base64,)?\{\{(?:raw-)?sha256:([0-9a-f]{64})\}\}")
"""How the record writes down an image in a body."""
_PART: Final = re.compile(
    r'Content-Disposition: form-data; name="([a-z_]+)"'
    r'(?:; filename="image\.[a-z]+"\r\nContent-Type: [a-z/-]+)?\r\n\r\n(.*)',
    re.DOTALL,
)
_TRIAL: Final = '{{"model":{model},"messages":[{{"role":"user","content":"Write one word."}}],"n":2}}'
_QUESTION: Final = (
    "{prompt}\n\nFill in every blank (_) of the text below with a word of your own. Answer with the whole text and "
    "nothing else.\n{blanked}"
)
Leaf = tuple[str, Any]
"""A value in a body, and the name that it stands under."""


class Known(NamedTuple):
    """An image as the API sent it, by candidate id; ``wording`` is its prompt's place in the plan."""

    label: str
    iteration: int
    digest: str
    wording: int | None


class Unexplained(Exception):  # noqa: N818 - it never leaves this module
    """A request carries what it has no reason to carry; the message says what."""


def find_request_faults(run: RunReader) -> Iterator[str]:
    """Yield each request that says or carries what it has no reason to; that bodies are intact is checked elsewhere."""
    if run.plan is None:
        return
    seen = _Seen(run, run.plan)
    for line, entry in enumerate(run.entries, 1):
        match entry.record:
            case Answered() as answer:
                seen.arrived |= _collect_digests(answer, run.bodies)
            case Received(slot=slot, outputs=outputs):
                if fault := seen.note(slot, outputs):
                    yield f"answer {slot} (line {line}): {fault}"
            case Released(receipt=receipt):
                seen.receipts[receipt.iteration] = receipt
            case Sent() as sent:
                try:
                    seen.explain(sent)
                except Unexplained as error:
                    yield f"request {sent.slot} (line {line}): {error}"


@dataclass
class _Seen:
    """Everything that had crossed the wire before a line.

    Attributes:
        arrived: Digests of all that came in answers.
        known: What came, by candidate id.
        shapes: Names in the bodies of calls of a kind, in order: the first of them settles it.
    """

    run: RunReader
    plan: PublicPlan
    arrived: set[str] = field(default_factory=lambda: {WITHHELD})
    known: dict[str, Known] = field(default_factory=dict)
    receipts: dict[int, Receipt] = field(default_factory=dict)
    shapes: dict[str, list[str]] = field(default_factory=dict)

    def note(self, slot: str, outputs: tuple[str, ...]) -> str:
        """Take note of what a call brought; says what is wrong with it."""
        call = self.plan.calls.get(slot)
        if call is None:
            return "is of no call of the plan"
        own = self.plan.varies_prompts or self.plan.vary_with == "own prompt"
        wording = call.wording if call.purpose == "create" else self._wording(call) if own else None
        for index, digest in enumerate(outputs):
            # The first to bring an id settles it; a later line cannot exchange
            # what an earlier request was explained by.
            self.known.setdefault(call.output(index), Known(call.label, call.iteration, digest, wording))
        return "" if self.arrived.issuperset(outputs) else "names an output that had not come"

    def explain(self, sent: Sent) -> None:
        """Find the reason for everything in a request's body; ``Unexplained`` where there is none."""
        call = self.plan.calls.get(sent.slot)
        if sent.slot == TRIAL_SLOT:
            if (sent.body.text or "") != _TRIAL.format(model=json.dumps(self.plan.model, ensure_ascii=False)):
                raise Unexplained("asks for two at once in other words than everybody")
            return
        if call is None:
            asked = planned_slot(sent.slot)
            if sent.body.size or not (asked in self.plan.calls or asked in (GREETING_SLOT, BALANCE_SLOT)):
                raise Unexplained("is not in the plan, and yet it says something")
            return
        text = sent.body.text or ""
        is_form = text.startswith("--")
        leaves = list(_parts(text)) if is_form else _leaves(text)
        # A boundary is free text of the client's: as a hash of what it separates it says nothing more.
        if is_form and not _is_hash_of_parts(self.run.bodies.get(sent.body)):
            raise Unexplained("has a form whose boundary is no hash of its parts")
        if not sent.url.startswith(self.plan.api.rstrip("/") + "/"):
            raise Unexplained("went to another provider than the plan's")
        images = [found[1] for _, value in leaves if (found := _image(value))]
        due = None if call.purpose == "create" else self._find_image_to_vary(call)
        sends_image = due is not None and not self.plan.varies_prompts and self.plan.modality.kind == "image"
        if images != ([due.digest] if due is not None and sends_image else []):
            raise Unexplained("carries another image than the plan or its receipt names")
        allowed = self._values(call, due)
        for name, value in leaves:
            spelled = (str(each) if is_form else each for each in allowed.get(name, ()))
            # By type too: True equals 1, and 1.0 does, and which of them was written would be a bit.
            if not _image(value) and (type(value), value) not in ((type(each), each) for each in spelled):
                raise Unexplained(f"says something under {name[:40]!a} that the plan does not")
        names = [name for name, _ in leaves]
        kind = "create" if call.purpose == "create" else "vary"
        # The order of names is free in JSON, so it must be the same each time, or it could say something.
        if names != self.shapes.setdefault(kind, names):
            raise Unexplained("says its values in another order than the requests before it")

    def _find_image_to_vary(self, call: Call) -> Known:
        """Return the image that a call has to vary; ``Unexplained`` where it may vary none."""
        receipt = self.receipts.get(call.iteration)
        if call.source is None:
            chosen = () if receipt is None or receipt.run_id != self.plan.run_id else receipt.of(call.label)
            if call.parent is None or call.parent >= len(chosen):
                raise Unexplained("varies what no receipt of its class and round chose")
            named, digest = chosen[call.parent].id, chosen[call.parent].digest
        else:
            named, digest = call.source, None
        known = self.known.get(named)
        if known is None or known.digest not in self.arrived or digest not in (None, known.digest):
            # Digest and arrival: a receipt may name what never came, and an id may stand for other bytes.
            raise Unexplained("varies what had not come from the API")
        if known.label != call.label or (digest is not None and known.iteration >= call.iteration):
            raise Unexplained("varies an image of another class, or of no earlier round")
        return known

    def _wording(self, call: Call) -> int | None:
        try:
            return self._find_image_to_vary(call).wording
        except Unexplained:
            return None

    def _values(self, call: Call, due: Known | None) -> dict[str, tuple[Any, ...]]:
        """Return the values that a body may state of a call, by the names that APIs have for them."""
        plan, words = self.plan, (self._prompt(call, due),)
        values: dict[str, tuple[Any, ...]] = {"model": (plan.model,), "sd_model_checkpoint": (plan.model,)}
        values |= dict.fromkeys(("prompt", "content"), words) | {"role": ("user",)}
        values |= dict.fromkeys(("n", "batch_size"), (call.count,)) | {
            "n_iter": (1,),
            "save_images": (False,),
        }
        values["seed"] = (call.seed, *(call.seed % most + 1 for most in (2**32 - 2, 2**32 - 1)))
        values |= dict.fromkeys(("strength", "denoising_strength"), (call.strength,))
        values |= {"output_format": ("png",), "response_format": ("b64", "b64_json")}
        if plan.modality.kind == "text":
            values |= {"max_tokens": (plan.texts.tokens,), "temperature": (plan.texts.temperature,)}
            values["seed"] = (call.seed % 2**31,)
            return {
                **values,
                **{new: values[old] for old, new in (each.split("=") for each in plan.texts.fields)},
            }
        asked = plan.images
        across = gcd(asked.width, asked.height)
        values |= dict.fromkeys(("steps", "num_inference_steps"), (asked.steps,))
        values |= dict.fromkeys(("guidance", "cfg_scale", "guidance_scale"), (asked.guidance,))
        values |= dict.fromkeys(("size", "image_size"), (f"{asked.width}x{asked.height}",))
        values |= {
            "width": (asked.width,),
            "height": (asked.height,),
            "negative_prompt": (asked.negative_prompt,),
            "scheduler": (asked.sampler,),
            "sampler_name": (asked.sampler or "Euler",),
        }
        if plan.dialect == "a1111":
            values["negative_prompt"] = (_unread(asked.negative_prompt),)
            values["prompt"] = (self._in_web_ui(call, due),)
        values |= {"adapter": (asked.adapter,), "scale": (asked.adapter_scale,)}
        ratio = f"{asked.width // across}:{asked.height // across}"
        return values | {"mode": ("text-to-image", "image-to-image"), "aspect_ratio": (ratio,)}

    def _in_web_ui(self, call: Call, due: Known | None) -> str:
        """A prompt whose public words are escaped as AUTOMATIC1111's web UI wants it."""
        prompt, made, at = self._prompt(call, due), "", 0
        public = sorted(filter(None, {self.plan.domain, call.label}), key=len, reverse=True)
        while at < len(prompt):
            word = next((each for each in public if prompt.startswith(each, at)), "")
            made += _unread(word) if word else prompt[at]
            at += len(word) or 1
        ends = any(prompt.rstrip().endswith(each.rstrip()) for each in public)
        return made + "," * bool(ends and re.search(r":\s*[-+]?[\d.]+\s*$", made))

    def _prompt(self, call: Call, due: Known | None) -> str:
        """The words of a call: its class's public prompt, or that of what it varies, or the varied text with blanks."""
        prompt = self.plan.prompt(call.label)
        own = self.plan.varies_prompts or self.plan.vary_with == "own prompt"
        wording = call.wording if due is None else due.wording if own else None
        if wording is not None:
            prompt = self.plan.first_prompts(call.label)[wording]
        text = (
            None if due is None or self.plan.varies_prompts else read_text(self.run.bodies.file(due.digest))
        )
        if self.plan.modality.kind == "image" or text is None:
            return prompt
        return _QUESTION.format(prompt=prompt, blanked=blank_out(text, call.strength or 0.0, call.seed))


def _load(answer: Answered, bodies: Bodies) -> Any:  # noqa: ANN401 - what JSON has
    """The JSON of an answer, with placeholders for images where the record has them; ``ValueError`` if it is none."""
    text = answer.body.text
    return json.loads(strip_mark(text.encode() if text else bodies.get(answer.body)))


def _collect_digests(answer: Answered, bodies: Bodies) -> set[str]:
    """Digests of all that an answer may have brought: files that were cut out of it, images in base64, and texts."""
    arrived = set(answer.body.files)
    try:
        whole = _load(answer, bodies)
        leaves = list(_walk(whole))
    except (ValueError, RecursionError):  # the image itself, or nothing that any dialect reads
        return arrived
    texts = [value for _, value in leaves if isinstance(value, str)]
    for text in ("", *texts, *_find_words(whole)):
        # Several spellings of base64 are in use: some wrap lines, or leave the padding out. What is none is a text.
        arrived.add(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
        plain = "".join(text.rpartition(",")[2].split()).rstrip("=")
        with suppress(ValueError):
            padded = plain.replace("-", "+").replace("_", "/") + "=" * (-len(plain) % 4)
            data = base64.b64decode(padded, validate=True)
            arrived.add(hashlib.sha256(data).hexdigest())
    return arrived


def _unread(words: str) -> str:
    """Words in which AUTOMATIC1111's web UI finds no syntax: not its brackets, words, networks and comments."""
    for mark in "\\()[]":
        words = words.replace(mark, f"\\{mark}")
    words = re.sub(r"\b(?:AND|BREAK)\b", lambda found: found[0].lower(), words)
    words = re.sub(r"<(?=\w+:)", "< ", words)
    return re.sub(r"#|/(?=[/*])|(?<=\*)/", " ", words)


def _find_words(answer: Any) -> Iterator[str]:  # noqa: ANN401 - what JSON has
    """Return what a language model says in an answer; thinking is known as in the dialect, by marks and parts."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    for choice in choices if isinstance(choices, list) else []:
        message = choice.get("message") if isinstance(choice, dict) else None
        if isinstance(message, dict):
            yield read_answer(message.get("content"))


def _leaves(text: str) -> list[Leaf]:
    """All values of a body in JSON, in the one spelling of its values; else ``Unexplained``."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise Unexplained("has a body that is no JSON and no form") from None
    # One spelling: blanks and escapes are free in JSON.
    if json.dumps(body, ensure_ascii=False, separators=(",", ":")) != text:
        raise Unexplained("has a body that is not in the one spelling of its values")
    return list(_walk(body))


def _walk(value: Any) -> Iterator[Leaf]:  # noqa: ANN401 - what JSON has
    """All values in a JSON value, in order, each under the last name on the way to it."""
    left: list[Leaf] = [("", value)]
    while left:  # no recursion: how deep an answer is nested is the provider's choice
        name, each = left.pop()
        if isinstance(each, dict):
            left.extend(reversed(each.items()))
        elif isinstance(each, list):
            left.extend((name, one) for one in reversed(each))
        else:
            yield name, each


def _parts(text: str) -> Iterator[Leaf]:
    """The fields of a form."""
    line = text.partition("\r\n")[0]
    parts = text.removeprefix(f"{line}\r\n").removesuffix(f"\r\n{line}--\r\n").split(f"\r\n{line}\r\n")
    if text != "".join(f"{line}\r\n{part}\r\n" for part in parts) + f"{line}--\r\n":
        raise Unexplained("has a body that is no form")
    for part in parts:
        found = _PART.fullmatch(part)
        if found is None:
            raise Unexplained("has a form with a part that is no field")
        yield found[1], found[2]


def _image(value: object) -> re.Match[str] | None:
    return _IMAGE.fullmatch(value) if isinstance(value, str) else None


def _is_hash_of_parts(body: bytes) -> bool:
    """True if a form's boundary follows from what it separates, so that it says nothing of its own."""
    line = body.partition(b"\r\n")[0]
    parts = (
        body.removeprefix(line + b"\r\n")
        .removesuffix(b"\r\n" + line + b"--\r\n")
        .split(b"\r\n" + line + b"\r\n")
    )
    return line[2:] == hashlib.sha256(b"\r\n".join(parts)).hexdigest()[:40].encode()
