"""The command line's entry point. A command that needs no network gives it up before anything else is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from pcevolve.public.processes import launcher
from pcevolve.public.processes.confinement import (
    ConfinementError,
    confine_offline,
    confine_online,
    require_confinement,
    take_demand,
)
from pcevolve.public.processes.doorway import BESIDE_KEEPER, KEEPER_HAS_REST, DoorError
from pcevolve.public.processes.serving import prepare_browser, prepare_server

OFFLINE = frozenset(
    "audit audit-dp budget check classify clinics compare evaluate export init pack plan report status".split()  # noqa: SIM905
)
"""Commands that open no socket and start no program; the kernel enforces this if it can."""
ONLINE = frozenset({"doctor", "fetch-encoder", "prompts"})
"""Commands that need the network and no private files; ``prompts`` only with ``--api``."""
APART = frozenset({"demo", "join", "preview", "run"})
"""Commands whose work other processes do, so that their own process needs no network either."""

STOPPED = 130
"""Exit code after Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command ``pcevolve``.

    The command always uses UTF-8, because it records class names, which are folder names and may contain any
    character.

    Args:
        arguments: Replace the process's own arguments. The process then belongs to another program, and is
            not confined.
    """
    if arguments is not None:
        from pcevolve.app.cli.commands import app, carry_out

        return carry_out(app, arguments)
    try:
        _carry_out_own()
    except KeyboardInterrupt:  # Ctrl-C before the command began
        print("stopped", file=sys.stderr)
        _leave_at_once()
    except SystemExit as ended:
        if ended.code != STOPPED:
            raise
        _leave_at_once()


def _carry_out_own() -> None:
    """Run the command that this process was started for."""
    is_demanded = take_demand(sys.argv)
    if sys.getfilesystemencoding() != "utf-8":
        again = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]  # also with -I
        os.execve(sys.executable, again, {**os.environ, "PYTHONUTF8": "1"})  # noqa: S606 - and what it starts
    _prepare(sys.argv[1] if len(sys.argv) > 1 else "", is_demanded)
    # Otherwise pydantic looks for plugins in every installed package, and runs them.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    from pcevolve.app.cli.commands import app, carry_out

    carry_out(app)


def _leave_at_once() -> NoReturn:
    """End the process with the exit code of Ctrl-C.

    A normal exit would unload torch, which takes a second, on a busy machine several. A process with
    children has not loaded torch.
    """
    if launcher.started or launcher.sides:
        sys.exit(STOPPED)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(STOPPED)


def _prepare(command: str, is_demanded: bool) -> None:
    """Start the processes that a command needs, and give up the network if the command does not need it."""
    options = {each.partition("=")[0] for each in sys.argv}
    doors = _find_values("--keeper") if command == "run" else []
    if doors and not {"--help", "-h"} & options:
        _refuse_more_options()
    keeps = command == "keeper" or (command == "join" and bool(_find_values("--socket")))
    try:
        if (keeps or doors) and not {"--help", "-h"} & options:
            # Whether containers confine the client is known only when both sides connect.
            launcher.demands.append(is_demanded)
            launcher.sides.append(
                launcher.start_clients_side(doors[0]) if doors else launcher.start_keepers_side()
            )
        elif is_demanded:
            require_confinement()
        if command in APART and not (keeps or doors) and not {"--help", "-h"} & options:
            launcher.started.append(launcher.start_children())
            if command == "demo":
                prepare_server()
            if "--dashboard" in options:
                prepare_browser()
        is_offline = command in OFFLINE or (command == "prompts" and "--api" not in options)
        if is_offline or launcher.started or launcher.sides:
            pids = [pid for each in (*launcher.started, *launcher.sides) for pid in each.pids]
            if pids:  # children do the work; threads would prevent this process from giving up files
                os.environ["OPENBLAS_NUM_THREADS"] = "1"
            confine_offline(pids, door=[each for side in launcher.sides for each in side.doors])
        elif command in ONLINE:
            confine_online()
    except (ConfinementError, DoorError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def _refuse_more_options() -> None:
    """Refuse options that belong to this run's keeper, before waiting for the keeper."""
    given = (each.partition("=")[0] for each in sys.argv[2:] if each.startswith("-"))
    if others := [each for each in given if each not in BESIDE_KEEPER]:
        print(f"error: {others[0]}: {KEEPER_HAS_REST}", file=sys.stderr)
        sys.exit(2)


def _find_values(option: str) -> list[str]:
    """Return the values of an option, before options are parsed."""
    places = [place for place, each in enumerate(sys.argv[:-1]) if each == option]
    given = [sys.argv[place + 1] for place in places]
    return given + [each.partition("=")[2] for each in sys.argv if each.startswith(f"{option}=")]
