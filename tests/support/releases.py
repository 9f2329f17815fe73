"""A release of what a provider sent: one image with a note of its own, and one that is none."""

from __future__ import annotations

import hashlib
import io

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from pcevolve.public.privacy import Event
from pcevolve.public.publish.release import DatasetRelease
from pcevolve.public.release import Candidate, Receipt
from pcevolve.public.selectors import find_method
from support.provider import png
from support.runs import RUN_ID, small_plan


def make_tagged() -> bytes:
    note, buffer = PngInfo(), io.BytesIO()
    note.add_text("Comment", "tracking-id-77")
    image = Image.new("RGB", (8, 8), "red")
    image.putpixel((7, 7), (0, 0, 0))
    image.save(buffer, "PNG", pnginfo=note)
    return buffer.getvalue()


SENT = {"a": make_tagged(), "b": png(1), "c": b"not an image"}


DIGESTS = {name: hashlib.sha256(data).hexdigest() for name, data in SENT.items()}


def release(**plan: object) -> DatasetRelease:
    def one(name: str, label: str) -> Candidate:
        return Candidate(f"i002-{name}", label, 2, None, DIGESTS[name])

    population = {"cut": (one("a", "cut"), one("c", "cut")), "good": (one("b", "good"),)}
    events = (Event("exponential", "5/4", count=2),)
    receipts = tuple(Receipt(RUN_ID, t, (), events, "replace-one") for t in (1, 2))
    return DatasetRelease(small_plan(**plan), find_method("pcevolve"), population, receipts, "f" * 64, 9)
