"""The first lines of a run's process: wait for an order, confine this process, then import and work.

The process carries out further orders under the same confinement, until its parent has none. Before the confinement,
only the standard library is imported, because a thread that another library starts would not be bound by Landlock's
rules. Usage: ``python -P -m pcevolve.public.processes.child ROLE PARENT DESCRIPTORS``.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from pcevolve.public.processes.confinement import (
    ConfinementError,
    Enforcement,
    confine_keeper,
    confine_runner,
    confine_worker,
    list_network_paths,
    list_system_paths,
)
from pcevolve.public.processes.pipe import Pipe, read_order

_PR_SET_PDEATHSIG: Final = 1
KEEPER: Final = "keeper"
RUNNER: Final = "runner"
"""The role with the network. No other role has the network."""
WORKER: Final = "worker"
"""The role that does the work of a command without network on behalf of a Python program."""
USED_LATER: Final = """
concurrent.futures.thread decimal fractions hashlib importlib.metadata ipaddress logging pathlib platform secrets
shutil tempfile urllib.parse uuid zoneinfo
""".split()  # noqa: SIM905 - a list would take a line for each
"""Modules of the standard library that keeper and runner load anyway, while they wait for their order."""
FAULTY: Final = 70
"""Exit code of a process that could not be confined and therefore did nothing."""


def main() -> None:
    role, parent, *descriptors = sys.argv[1:]
    _end_with(int(parent))
    numbers = [*map(int, descriptors)]
    pipes = [Pipe(*numbers[place : place + 2]) for place in range(0, len(numbers), 2)]
    if role != RUNNER:
        # The runner handles Ctrl-C. Paid releases are already in the ledger.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.umask(0o077)
    if role in (KEEPER, RUNNER):
        for each in USED_LATER:
            import_module(each)
    order = read_order(pipes[0])
    if order is None:
        return
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Otherwise pydantic looks for plugins in every installed package, and runs them.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    try:
        enforced = _confine(role, order, pipes)
    except ConfinementError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(FAULTY)
    while order is not None:
        module, _, function = order["work"].partition(":")
        gc.disable()  # of what is imported nothing is garbage, and looking through it takes a tenth of the time
        work = getattr(import_module(module), function)
        gc.freeze()
        gc.enable()
        work(order["orders"], enforced, *pipes)
        order = read_order(pipes[0])


def _confine(role: str, order: Mapping[str, Any], pipes: list[Pipe]) -> Enforcement:
    """Confine this process as its role and its order demand.

    What must exist before is made first: the client's connection, which joins ``pipes``, and the listening socket.
    """
    orders = order["orders"]
    if "door" in orders:  # the client is another command: it is let in while there are sockets
        from pcevolve.public.processes.doorway import admit, open_pipe  # sockets, which no other child loads

        connection, orders["is_cut_off"] = admit(orders["door"])
        pipes.append(open_pipe(connection))
    door = [each for pipe in pipes for each in pipe.descriptors]
    if is_listening := "listen" in orders:
        from pcevolve.public.processes.doorway import listen  # as above

        orders["listener"] = listen(*orders["listen"])
        door.append(orders["listener"])
    reads = [*list_system_paths(), *order["reads"]]
    if role == WORKER:
        return confine_worker(reads, order["writes"])
    if role != RUNNER:
        return confine_keeper(reads, order["writes"], door=door)
    return confine_runner([*list_network_paths(), *reads], order["writes"], door=door, accepts=is_listening)


def _end_with(parent: int) -> None:
    """End this process when its parent ends, for whatever reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before this
        sys.exit(FAULTY)


if __name__ == "__main__":
    main()
