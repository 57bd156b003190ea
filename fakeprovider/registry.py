"""A registry: members of one kind, found by name. Whatever comes in kinds is registered in one.

A member registers itself where it is defined; the registry knows which modules hold members and
imports them at the first look, so that naming a kind loads nothing. Parsers, exports, strategies,
documentation and help all read the registry: what is registered is everywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from types import FrameType
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Members of one kind by name, in the order of their modules, and of their lines in each.

    `kind` is the word for one member in messages, such as "fault". `modules` hold the members:
    they are imported, in this order, when the registry is first looked at.
    """

    def __init__(self, kind: str, modules: Sequence[str] = ()) -> None:
        self.kind = kind
        self._modules = tuple(modules)
        self._members: dict[str, T] = {}
        self._homes: dict[str, str] = {}
        self._loaded = not modules

    def add(self, name: str, member: T) -> T:
        """Register a member and return it; raises `ValueError` for a name that is taken."""
        if name in self._members:
            raise ValueError(f"there are two members of the kind {self.kind} named {name!r}")
        self._members[name] = member
        self._homes[name] = _importing()
        return member

    def remove(self, name: str) -> T:
        """Take a member out again, which only a test does; raises `KeyError`."""
        del self._homes[name]
        return self._members.pop(name)

    def unknown(self, name: str) -> str:
        """What to say of a name that is not registered: the nearest ones, or all there are."""
        near = get_close_matches(name, self, n=3)
        known = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(self)}"
        return f"no {self.kind} named {name!r}; {known}"

    def __getitem__(self, name: str) -> T:
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def _load(self) -> dict[str, T]:
        if not self._loaded:
            for module in self._modules:
                import_module(module)
            # whoever imported one of the modules earlier has no say in the order
            places = {module: place for place, module in enumerate(self._modules)}
            names = sorted(self._members, key=lambda name: places.get(self._homes[name], 1 << 20))
            self._members = {name: self._members[name] for name in names}
            self._loaded = True
        return self._members


def _importing() -> str:
    """The module that is being imported, which is the one that registers; "" if there is none."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals["__name__"])
