"""An argument that is something else than wanted, refused in one plain sentence."""

from __future__ import annotations

from collections.abc import Mapping


def expect(fits: bool, wanted: str, value: object) -> None:
    """Raise `TypeError` unless `fits`; `wanted` says what to pass, `value` is what was passed."""
    if not fits:
        raise TypeError(f"{wanted}; not {value!r}")


def text(what: str, value: object, *, optional: bool = False) -> None:
    """Refuse what is no text, nor None if `optional`; `what` names it."""
    fits = isinstance(value, str) or (optional and value is None)
    expect(fits, f"{what} is text{', or None' if optional else ''}", value)


def flag(what: str, value: object) -> None:
    """Refuse what is neither True nor False; `what` names it."""
    expect(isinstance(value, bool), f"{what} is True or False", value)


def mapping(what: str, value: object) -> None:
    """Refuse what is no dict, nor None; `what` names it."""
    expect(isinstance(value, Mapping | None), f"{what} is a dict, or None", value)
