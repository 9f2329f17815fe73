"""One process with few threads or many, or several processes: what ``pcevolve-server bench --compare`` finds out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from pcevolve_server.capacity import Capacity
from pcevolve_server.engines import choice
from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import EngineKind, Settings

_WORTH = 1.1
"""How many times as fast a way must be as a simpler one before it is advised: processes hold the weights each."""


@dataclass(frozen=True)
class Way:
    """To use the cores of a machine.

    Attributes:
        flags: That make ``pcevolve-server serve`` do so.
        settings: The same.
    """

    flags: str
    settings: Settings


@dataclass(frozen=True)
class Compared:
    """What was found of each way, the simplest first.

    Attributes:
        capacities: By their flags.
        failed: Why others could not be measured.
    """

    capacities: dict[str, Capacity]
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def advised(self) -> str:
        """Flags of the simplest way than which no other makes clearly more images per second."""
        speeds = {flags: _speed(each) for flags, each in self.capacities.items()}
        return next(flags for flags, speed in speeds.items() if speed * _WORTH >= max(speeds.values()))

    def as_json(self) -> dict[str, object]:
        """For a program."""
        return {
            "ways": {flags: asdict(each) for flags, each in self.capacities.items()},
            "failed": self.failed,
            "advised": self.advised,
        }

    def as_text(self) -> str:
        """A table, and what to do."""
        one = next(iter(self.capacities.values()))
        width = max(map(len, self.capacities)) + 2
        return "\n".join([
            one.subject,
            f"{'':{width}}{'lone image, s':>14}{'text-to-image/s':>17}{'image-to-image/s':>18}",
            *(_line(flags, each, width) for flags, each in self.capacities.items()),
            *(f"{flags} failed: {why}" for flags, why in self.failed.items()),
            f"Serve it with: {self.advised}",
        ])  # fmt: skip


def ways(settings: Settings) -> tuple[Way, ...]:
    """One thread, all cores on one model, and replicas that share the cores, the simplest first.

    Raises:
        SettingsError: One of these was chosen already.
    """
    if settings.engine is not EngineKind.THREAD or settings.replicas or settings.model.threads:
        raise SettingsError("--compare tries --engine, --replicas and --threads itself: leave them out")
    cores = choice.cores()
    if cores == 1:
        return (_way(settings, EngineKind.THREAD, 0, 1),)
    return (
        _way(settings, EngineKind.THREAD, 0, 1),
        _way(settings, EngineKind.THREAD, 0, cores),
        _way(settings, EngineKind.PROCESSES, *choice.unasked(cores)),
    )


def _way(settings: Settings, engine: EngineKind, replicas: int, threads: int) -> Way:
    chosen = replace(
        settings, engine=engine, replicas=replicas, model=replace(settings.model, threads=threads)
    )
    several = f"--engine {engine} --replicas {replicas} " if replicas else ""
    return Way(f"{several}--threads {threads}", chosen)


def _speed(capacity: Capacity) -> float:
    return capacity.best["text-to-image"].images_per_second


def _line(flags: str, capacity: Capacity, width: int) -> str:
    speeds: Sequence[float] = [figure.images_per_second for figure in capacity.best.values()]
    return f"{flags:{width}}{capacity.lone_seconds:14.3g}{speeds[0]:17.3g}{speeds[1]:18.3g}"
