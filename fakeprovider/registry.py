"""The one manner in which things that come in kinds are registered and found by name.

A member registers itself where it is defined; the registry knows which modules hold members and
imports them at the first look, so that naming a kind loads nothing. Parsers, exports, strategies,
documentation and help all read the registry: what is registered is everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Members of one kind by name, in the order in which they were registered.

    `kind` is the word for one member in messages, such as "fault". `modules` hold the members:
    they are imported, in this order, when the registry is first looked at.
    """

    def __init__(self, kind: str, modules: Sequence[str] = ()) -> None:
        self.kind = kind
        self._modules = tuple(modules)
        self._members: dict[str, T] = {}

    def add(self, name: str, member: T) -> T:
        """Register a member and return it; raises `ValueError` for a name that is taken."""
        if name in self._members:
            raise ValueError(f"there are two members of the kind {self.kind} named {name!r}")
        self._members[name] = member
        return member

    def unknown(self, name: str) -> str:
        """What to say of a name that is not registered: the nearest ones, or all there are."""
        near = get_close_matches(name, self, n=3)
        known = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(self)}"
        return f"no {self.kind} named {name!r}; {known}"

    def __getitem__(self, name: str) -> T:
        return self._loaded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded())

    def __len__(self) -> int:
        return len(self._loaded())

    def _loaded(self) -> dict[str, T]:
        for module in self._modules:
            import_module(module)
        self._modules = ()
        return self._members
