"""Options: their declared properties, and their names in messages, with the standard library alone.

``declared`` reads options from the models that declare them. A run's options are also in ``config.table``. The command
line reads them from there, because loading pydantic takes longer than printing help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


def _nobody_typed(_name: str) -> None:
    """Return None, so that messages name options by their flags."""


_TYPED: ContextVar[Callable[[str], str | None]] = ContextVar("typed", default=_nobody_typed)


@dataclass(frozen=True)
class Setting:
    """Properties of an option besides its type, bounds and help.

    Attributes:
        public: Whether it becomes part of the public plan, which the provider and every reader of the result may see.
        resumable: Whether it may change when a run is resumed.
        keyword: Its name in Python and on the command line, if different from the field's name.
        variable: The name of an additional environment variable for this option.
        only: The kind of run that has it. Empty if all kinds have it, or if the API's dialect decides.
        needs: The capability without which a dialect would silently ignore the option.
    """

    public: bool = False
    resumable: bool = False
    keyword: str = ""
    variable: str = ""
    only: str = ""
    needs: str = ""


OWN = Setting()
"""The properties of an option that stays with the client."""


@dataclass(frozen=True)
class Option:
    """One declared option of a model, for the command line and the reference.

    Attributes:
        name: Its name in Python. On the command line, dashes replace underscores.
        section: The section that contains it.
        key: Its key in the section.
        kind: The form of its value, such as ``int`` or ``matched|as-is``.
        bounds: Its bounds, such as ``1<=x<=100``, or "" if there are none.
        default: As text. Empty if there is none, or if it varies.
        is_switch: Whether it takes no value.
        is_repeated: Whether it may be given several times.
        methods: The methods that have the option. Empty if all have it.
        has_flag: Whether the command line has a flag for it. Otherwise it is set by ``--set``.
        private: Whether only the owner's process may know its value.
    """

    name: str
    section: str
    key: str
    setting: Setting
    help: str
    kind: str
    bounds: str
    default: str
    required: bool
    is_switch: bool
    is_repeated: bool
    methods: tuple[str, ...] = ()
    has_flag: bool = True
    private: bool = False

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def path(self) -> str:
        """The key of the option in configuration files and for ``--set``."""
        return f"{self.section}.{self.key}" if self.section else self.key

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that the option's value may be, or nothing if it may be any value."""
        return tuple(self.kind.split("|")) if "|" in self.kind else ()

    @property
    def spelled(self) -> str:
        """The option's name in messages: as it was typed, otherwise its flag, otherwise its key."""
        return _TYPED.get()(self.name) or (self.flag if self.has_flag else self.path)

    def of(self, model: Any) -> object:  # noqa: ANN401 - any model that declares it
        """Return the option's value in a model, or None if the model has no such option."""
        return getattr(getattr(model, self.section) if self.section else model, self.key, None)

    def is_given(self, model: Any) -> bool:  # noqa: ANN401 - any model that declares it
        """Return True if the option was given explicitly."""
        part = getattr(model, self.section) if self.section else model
        given: bool = self.key in part.model_fields_set
        return given


AS_KEYWORDS: Callable[[str], str] = str
"""An argument for ``spell_as``: options are Python keywords, and messages use their names."""


@contextmanager
def spell_as(spelling: Callable[[str], str | None]) -> Iterator[None]:
    """Let messages name options as they were typed. ``spelling`` maps a name, or returns None for the usual name."""
    before = _TYPED.set(spelling)
    try:
        yield
    finally:
        _TYPED.reset(before)


def spells_keywords() -> bool:
    """Return True if messages name options as Python keywords."""
    return _TYPED.get() is AS_KEYWORDS


def spell_flag(name: str) -> str:
    """Return the name that messages use for an option that has a flag: as it was typed, or otherwise the flag."""
    return _TYPED.get()(name) or f"--{name.replace('_', '-')}"


def spell_before(name: str) -> str:
    """Return the result of ``spell_flag`` to print before a value. A colon follows a file's name."""
    spelled = spell_flag(name)
    return f"{spelled}: " if " in " in spelled else f"{spelled} "


def advise(name: str, value: object, path: str = "") -> str:
    """Return text for a user to type.

    Args:
        path: The option's key, if it has no flag.

    Returns:
        A keyword in Python; otherwise the option's flag or, with ``path``, ``--set``.
    """
    if spells_keywords():
        return f"{name}={value!r}"
    word = str(value).lower() if isinstance(value, bool) else value
    return f"--set {path}={word}" if path else f"--{name.replace('_', '-')} {word}"


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a question with the most similar known name, or "" if none is similar."""
    from difflib import get_close_matches  # only where something is wrong

    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def say_missing(options: Iterable[Option]) -> str:
    """Return the line that requests missing required options."""
    *first, last = (each.spelled for each in options)
    return f"{', '.join(first)}{' and ' if first else ''}{last} must be given: see --help"


_AT_DOOR: ContextVar[bool] = ContextVar("at_door", default=False)


@contextmanager
def at_door() -> Iterator[None]:
    """Let messages fit a run that consists of two commands, both of which are typed again to continue the run."""
    before = _AT_DOOR.set(True)
    try:
        yield
    finally:
        _AT_DOOR.reset(before)


def is_at_door() -> bool:
    """Return True if the run consists of two commands."""
    return _AT_DOOR.get()
