"""Query strings of the provider's own pages: what is asked for is known, or an error that names it.

A service's endpoints take any query string, as the services do.
"""

from __future__ import annotations

import re

from starlette.datastructures import QueryParams

_NUMBER = re.compile("[0-9]{1,9}")
_SHOWN = 40


class BadQuery(ValueError):
    """A query string with a parameter that there is not, twice, or with no sense in it."""


def check_names(
    asked: QueryParams, allowed: tuple[str, ...], several: tuple[str, ...] = ()
) -> None:
    """Raises `BadQuery` for a name that is in neither, or twice and not in `several`."""
    known = (*allowed, *several)
    for name in asked:
        if name not in known:
            raise BadQuery(f"Unknown parameter {_cut(name)}; allowed: {', '.join(known)}.")
        if name in allowed and len(asked.getlist(name)) > 1:
            raise BadQuery(f"The parameter {name!r} is given more than once.")


def number_of(asked: QueryParams, name: str) -> int | None:
    """The parameter as a number, None if it is not given. Raises `BadQuery`."""
    value = asked.get(name)
    if value is None:
        return None
    if not _NUMBER.fullmatch(value):
        raise BadQuery(f"{name} must be a number such as 30, not {_cut(value)}.")
    return int(value)


def _cut(value: str) -> str:
    return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "...")
