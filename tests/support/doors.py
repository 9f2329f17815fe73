"""A coordinator's door on loopback, and what its owners say there."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from pcevolve.errors import UsageError
from pcevolve.public.clinics.answers import Question, SignedAnswer, state_answer
from pcevolve.public.clinics.messages import state_agreement, state_presence
from pcevolve.public.clinics.sync import SYNC, Sync
from pcevolve.public.processes.doorway import listen
from pcevolve.public.protocol import digest_plan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.chain import GENESIS
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import Opened, Planned
from pcevolve.wire.clinics.door import Door
from pcevolve.wire.clinics.serving import serve
from support.clinics import make_clinics, make_key
from support.runs import small_plan

CLINICS = make_clinics(2)
PLAN = small_plan(method="pe", delta=1e-5, epsilon="1", shots=20, clinics=CLINICS)
QUESTION = Question(plan=digest_plan(PLAN), iteration=1, part=0, head="1" * 64, earlier="2" * 64, step=0.5)


class Coordinator:
    """A door that is open, with a record of a plan."""

    def __init__(self, folder: Path) -> None:
        self.folder = RunFolder(folder)
        folder.mkdir()
        record = Transcript(self.folder.transcript)
        record.append(Opened(run_id=PLAN.run_id, api=PLAN.provider.api, dialect=PLAN.provider.dialect))
        record.append(Planned(plan=PLAN))
        record.close()
        self.told: list[str] = []
        self.door = Door(self.folder, "1.0", self.told.append)
        listener = listen("127.0.0.1", 0)
        self.server = serve(listener, self.door, None, None)
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.server.socket.getsockname()[1]}", timeout=20
        )
        self.failed: list[Exception] = []
        self.results: list[object] = []

    def go(self, work: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                self.results.append(work())
            except UsageError as error:
                self.failed.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        time.sleep(0.2)
        return thread

    def say(self, owner: int = 0, key: int | None = None, **said: object) -> httpx.Response:
        signer = make_key(owner + 1 if key is None else key).signing
        token = signer.sign(state_presence(str(said.get("roster", CLINICS.digest))))
        word = {"version": "1.0", "roster": CLINICS.digest, "owner": owner, "token": base64.b64encode(token),
                "head": GENESIS, **said}  # fmt: skip
        return self.client.post(SYNC, content=Sync.model_validate(word).model_dump_json())

    def agree(self, owner: int) -> httpx.Response:
        signature = make_key(owner + 1).signing.sign(state_agreement(digest_plan(PLAN)))
        return self.say(owner, agreement=base64.b64encode(signature))


def answer(owner: int, question: Question = QUESTION, fill: int = 0) -> dict[str, object]:
    vector = bytes([fill] * 8)
    signature = make_key(owner + 1).signing.sign(state_answer(question.digest, owner, vector))
    return {"question": question.digest, "answer": SignedAnswer.of(owner, vector, signature)}


def ask(coordinator: Coordinator) -> threading.Thread:
    return coordinator.go(lambda: coordinator.door.gather(QUESTION, ()))


def read_all(coordinator: Coordinator) -> dict[str, object]:
    raw = coordinator.folder.log.read_bytes().splitlines(keepends=True)
    return {"lines": len(raw), "head": hashlib.sha256(raw[-1]).hexdigest()}
