"""Which scripts there are, and how one is found by name.

Another package adds scripts through the entry-point group `fakeprovider.scripts`; those that come
with this one are found without, so that a checkout works before it is installed again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.registry import Registry as Members
from fakeprovider.replies import Reply

Script: TypeAlias = Callable[[Conversation], Reply]
"""A pure function: the same conversation gets the same reply."""

GROUP = "fakeprovider.scripts"
"""The entry-point group of other packages' scripts."""

BUILTIN: Members[Script] = Members(
    "script",
    (
        "fakeprovider.scripts.steady",
        "fakeprovider.scripts.stuck",
        "fakeprovider.scripts.effects",
        "fakeprovider.scripts.coding",
        "fakeprovider.scripts.plan_file",
        "fakeprovider.scripts.survey",
    ),
)
"""The scripts that come with this package, by name."""


def script(function: Script) -> Script:
    """Decorator: register a built-in script under its own name, dashes for underscores."""
    return BUILTIN.add(function.__name__.replace("_", "-"), function)


class UnknownScript(KeyError):
    """No script of that name; the message lists those there are."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"no script named {name!r}; there are: {', '.join(sorted(known))}")
        self.name = name

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show it quoted


class Registry(Mapping[str, Script]):
    """Scripts by name. Those of entry points are imported when first asked for."""

    def __init__(self, scripts: Mapping[str, Script], installed: Iterable[EntryPoint] = ()) -> None:
        self._scripts = dict(scripts)
        self._installed = {point.name: point for point in installed if point.name not in scripts}

    def __getitem__(self, name: str) -> Script:
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self._load(name)
        return script

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._scripts, *self._installed}))

    def __len__(self) -> int:
        return len({*self._scripts, *self._installed})

    def __contains__(self, name: object) -> bool:
        return name in self._scripts or name in self._installed

    def add(self, name: str, script: Script) -> None:
        """Add a script while the server runs, or put it in the place of another."""
        self._scripts[name] = script

    def remove(self, name: str) -> None:
        """Forget a script that was added."""
        self._scripts.pop(name, None)

    def _load(self, name: str) -> Script:
        point = self._installed.get(name)
        if point is None:
            raise UnknownScript(name, self)
        script: Script = point.load()
        return script


def describe(script: Script) -> str:
    """The first line of a script's docstring, or "" if it has none."""
    return (inspect.getdoc(script) or "").partition("\n")[0]


def is_builtin(script: Script) -> bool:
    """Whether it is a script of this package, which is known to be pure."""
    return id(script) in _builtin_ids()


@cache
def _builtin_ids() -> frozenset[int]:
    return frozenset(map(id, BUILTIN.values()))


def discover(extra: Mapping[str, Script] | None = None) -> Registry:
    """All scripts: `extra` first, then the built-in ones, then those of entry points."""
    _builtin_ids()  # worked out before the first request, which then need not wait for it
    return Registry({**BUILTIN, **(extra or {})}, entry_points(group=GROUP))
