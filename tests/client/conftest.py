"""Finished runs: draws paid for, with a choice of plan and provider, or by the library; and an online API."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pcevolve
from pcevolve.app.cli import commands as cli
from pcevolve.app.cli.main import main
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.transport import Transport
from pcevolve.wire.providers import dialect
from support import online
from support.checkups import tree
from support.comfyui import WORKFLOW
from support.folders import class_folders
from support.native import native_server
from support.paid import make_paid_run
from support.provider import png
from support.runs import SmallRun, small_plan
from support.typed import spell_words


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[PublicPlan], Path]:
    """Where a run of a plan against an honest provider lies, which is made once."""
    made: dict[str, Path] = {}

    def at(plan: PublicPlan) -> Path:
        key = plan.model_dump_json()
        if key not in made:
            made[key] = make_paid_run(tmp_path_factory.mktemp("honest") / "run", plan)
        return made[key]

    return at


@pytest.fixture
def finished(tmp_path: Path, honest: Callable[[PublicPlan], Path]) -> Callable[..., Path]:
    """Make a finished ``pcevolve`` run, or copy one; keywords change its plan."""

    def make(provider: Transport | None = None, **changes: object) -> Path:
        plan = small_plan(**{"method": "pcevolve", **changes})
        if provider is not None:
            return make_paid_run(tmp_path / "run", plan, provider)
        return shutil.copytree(honest(plan), tmp_path / "run", dirs_exist_ok=True)

    return make


class Told(NamedTuple):
    """Outcome of a command.

    Attributes:
        said: What it printed to stderr, in one line.
    """

    code: int
    out: str
    said: str


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """The command line, as ``pcevolve`` runs it."""

    def carry_out(*words: object) -> Told:
        capsys.readouterr()
        code = 0
        try:
            main([str(each) for each in words])
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return Told(code, printed.out, " ".join(printed.err.split()))

    return carry_out


@pytest.fixture
def server() -> Iterator[online.LocalServer]:
    """An API on loopback that speaks one of the online dialects, ``a1111``."""
    made = online.LocalServer(online.a1111)
    yield made
    made.close()


SMALL = {"candidates": 2, "batch": 2, "iterations": 1, "pad_selection": 0.01, "shots": 3, "seed": 7}


@pytest.fixture
def native() -> Iterator[online.LocalServer]:
    """An API server on loopback that speaks the native dialect."""
    made = native_server()
    yield made
    made.close()


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return class_folders(tmp_path / "scans", 1)


@pytest.fixture
def evolved(native: online.LocalServer, private: Path, tmp_path: Path) -> Callable[..., pcevolve.Result]:
    """A small finished run, on a ledger of its own; keywords change its options."""

    def make(**changes: object) -> pcevolve.Result:
        given: dict[str, object] = {
            "private": private,
            "domain": "scan",
            "provider": pcevolve.Provider(native.address),
            "out": tmp_path / "run",
            "ledger": tmp_path / "ledger" / "ledger.sqlite",
            "method": "pcevolve",
            "quiet": True,
            "yes": True,
            **SMALL,
        }
        if changes.get("method") == "t2i":
            del given["iterations"]
        return pcevolve.evolve(**(given | changes))  # type: ignore[arg-type]

    return make


@dataclass
class World:
    """A dialect, its API, and a plan that it can carry out."""

    name: str
    server: online.LocalServer
    pictures: online.LocalServer | None
    key: str

    @property
    def plan(self) -> dict[str, Any]:
        """Options of a small plan, with strengths as far as the dialect has any."""
        spoken = dialect(self.name)
        strengths = (0.8, 0.78) if "strength" in spoken.abilities.capabilities else ()
        hosts = {"image_hosts": (self.pictures.host,)} if self.pictures else {}
        names = {
            "a1111": "v1-5",
            "comfyui": "a-workflow",
            "openai-plain": "gpt-image-1",
            "siliconflow": "Kwai-Kolors/Kolors",
        }
        names |= {"replicate": "lab/painter:5c7d5dc6", "azure": "my-images"}
        fixed = {
            "iterations": 2,
            "strengths": strengths,
            "batch": 1 if self.name == "getimg" else min(2, spoken.abilities.most),
        }
        model = names.get(self.name, "bundled")
        fixed |= {"candidates": 2}
        if "workflow" in spoken.abilities.capabilities:
            fixed |= {"workflow": WORKFLOW}
        if "vary" not in spoken.abilities.capabilities:  # the wire is the same, whatever is said again
            fixed |= {
                "vary_by": "prompt",
                "prompts": (("a cut", "a long cut"), ("good leather", "a better one")),
            }
        return {**fixed, **hosts, "api": self.server.address, "dialect": self.name, "model": model}

    def open(self, root: Path, key: str | None = None, **changes: Any) -> SmallRun:
        """A run against the server, over a socket."""
        names = ("allowance", "sleep")
        opened = {name: changes.pop(name) for name in names if name in changes}
        address = Address(self.server.address, key or self.key, dialect(self.name).abilities.scheme)
        none = {"strengths": ()} if changes.get("graded") is False else {}
        plan = small_plan(**{**self.plan, **none, **changes})
        return SmallRun.open(root, plan, HttpTransport(5), address=address, **opened)


Make = Callable[[str], World]


@pytest.fixture
def world() -> Iterator[Make]:
    """Start a dialect's server by the dialect's name."""
    servers: list[online.LocalServer] = []

    def serve(speak: Callable[[online.Heard], online.Reply]) -> online.LocalServer:
        servers.append(online.LocalServer(speak))
        return servers[-1]

    def make(name: str) -> World:
        if name == "siliconflow":
            pictures = serve(online.image_host)
            return World(name, serve(online.SiliconFlow(pictures.address)), pictures, online.KEY)
        if name == "replicate":
            pictures = serve(online.image_host)
            return World(name, serve(online.Replicate(pictures.address)), pictures, online.KEY)
        if name == "comfyui":
            return World(name, serve(online.ComfyUIServer()), None, online.KEY)
        speak = getattr(online, name.replace("-", "_"))
        return World(name, serve(speak), None, online.LOGIN if name == "a1111" else online.KEY)

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of four images each."""
    return tree(tmp_path / "data", "cut", "good", images=4)


@pytest.fixture
def check(folder, command, monkeypatch) -> Callable[..., tuple[int, str]]:
    """Exit code of the command, and what it printed without the lines and folds of its table."""
    monkeypatch.setenv("COLUMNS", "80")

    def run_check(*arguments: object) -> tuple[int, str]:
        told = command("check", *(arguments or (folder, "--shots", 4)))
        framed = [line for line in told.out.splitlines() if line.startswith(("┃", "│", "┏", "└"))]
        assert all(len(line) <= 80 for line in framed)
        return told.code, " ".join(re.sub("[│┃]", " ", told.out).split())

    return run_check


@pytest.fixture
def given(server, tmp_path, monkeypatch) -> dict[str, object]:
    """Its options: two classes of one image, two rounds; paths are relative to the working directory."""
    for seed, label in enumerate(("cut", "good")):
        (tmp_path / "private" / label).mkdir(parents=True)
        (tmp_path / "private" / label / "a.png").write_bytes(png(seed))
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    monkeypatch.chdir(tmp_path)
    return {
        **{
            "private": "private",
            "domain": "scratch",
            "shots": 1,
            "out": "run",
            "ledger": "ledger/ledger.sqlite",
        },
        **{"method": "pcevolve", "candidates": 2, "iterations": 2, "yes": True, "pad_selection": 0.01},
        **{"api": server.address, "dialect": "a1111", "model": "v1-5", "patience": 0, "batch": 2, "size": 16},
    }


@pytest.fixture
def words(given) -> Callable[..., list[str]]:
    """The words of its command line; keywords change options (None: left out), words go behind them."""

    def spell(*more: object, **changes: object) -> list[str]:
        return ["run", *(str(each) for each in (*spell_words(**{**given, **changes}), *more))]

    return spell


@pytest.fixture
def run(words) -> Callable[..., Path]:
    """The command, which raises what it would print; its run's folder."""

    def command(*more: object, **changes: object) -> Path:
        cli.app(words(*more, **changes), standalone_mode=False)
        return Path(str(changes.get("out", "run"))).absolute()

    return command


@pytest.fixture
def broken_img2img(server) -> None:
    """The API has no memory for variations until somebody gives it some (``server.speak = online.a1111``)."""
    failure = online.answer_json(500, {"error": "RuntimeError", "errors": "out of memory"})
    server.speak = lambda heard: failure if heard.path.endswith("img2img") else online.a1111(heard)


@pytest.fixture(scope="module")
def few_steps() -> Iterator[None]:
    """Judges train in a tenth of their steps, in which two tones are learned."""
    from pcevolve.keeper.evaluation.heads import train_cnn

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pcevolve.keeper.evaluation.heads.train_cnn", partial(train_cnn, steps=40))
        patch.setattr("pcevolve.keeper.evaluation.heads.STEPS", 40)
        yield


@pytest.fixture
def cut_off(words, command, server, broken_img2img) -> Path:
    """A run that paid for its first round and then lost its API, which is back."""
    assert command(*words()).code == 6
    server.speak = online.a1111
    server.heard.clear()
    return Path("run").absolute()
