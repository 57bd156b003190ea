"""Checks of arguments: numbers, texts, flags; each refusal is one plain sentence."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from math import isfinite
from numbers import Integral, Real
from typing import Any


def whole(what: str, value: object, least: int = 0, *, optional: bool = True) -> None:
    """Refuse what is no whole number from `least` up, nor None if `optional`; `what` names it.

    Raises `TypeError` for anything but an int, `ValueError` for an int that is too small.
    """
    if value is None and optional:
        return
    none = ", or None for no limit" if optional else ""
    wanted = f"{what} is a whole number, {least} or more{none}; not {value!r}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(wanted)
    if value < least:
        raise ValueError(wanted)


def amount(what: str, value: Any, *, optional: bool = True) -> None:
    """Refuse what is no finite number of 0 or more, nor None if `optional`; raises as `whole`."""
    if value is None and optional:
        return
    none = ", or None for no limit" if optional else ""
    wanted = f"{what} is a finite number, 0 or more{none}; not {value!r}"
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(wanted)
    if not isfinite(value) or value < 0:
        raise ValueError(wanted)


def usd(what: str, value: object) -> Decimal | None:
    """USD exactly: text, an int or a `Decimal`, finite and 0 or more; None stays None.

    Raises `TypeError` for a float, since 0.1 is not ten cents, and for any other type.
    """
    if value is None:
        return None
    if isinstance(value, float):
        raise TypeError(f"{what} is an amount in USD: write it as text, '{value}'")
    wanted = f"{what} is an amount in USD, 0 or more, such as '0.05', or None for no limit"
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise TypeError(f"{wanted}; not {value!r}")
    try:
        exact = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"{wanted}; not {value!r}") from None
    if not exact.is_finite() or exact < 0:
        raise ValueError(f"{wanted}; not {value!r}")
    return exact


def reading(value: object) -> int | float:
    """A measured number as it is stored; raises `TypeError` for anything but a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
        raise TypeError(f"a finite number is wanted, not {value!r}")
    return int(value) if isinstance(value, Integral) else float(value)


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
