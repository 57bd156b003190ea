"""What a server is given, checked when it is made: later it would be a 500 for every request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakeprovider import pacing
from fakeprovider.faults import Chaos
from fakeprovider.replies import Fault, Pace


def script(given: Any) -> None:
    """Raise `TypeError` for what is neither a name nor a function of a conversation."""
    if given is None or isinstance(given, str) or callable(given):
        return
    raise TypeError(
        f"script={given!r} is no script: pass a name or a function; for replies, "
        "Replies(...) from fakeprovider.scripts.reply_sequence"
    )


def scripts(given: Mapping[str, Any] | None) -> None:
    """Raise `TypeError` for a script by name that is no function."""
    for name, one in (given or {}).items():
        if not callable(one):
            raise TypeError(f"scripts[{name!r}] is {one!r}, not a function of a conversation")


def pace(given: Any) -> Pace | None:
    """The pace, given as it is or by a profile's name; raises `BadPace` and `TypeError`."""
    if given is None or isinstance(given, Pace):
        return given
    if isinstance(given, str):
        return pacing.read({"pace": given})
    raise TypeError(f"pace={given!r}: pass Pace(...) or one of {', '.join(pacing.PROFILES)}")


def faults(given: Any) -> Sequence[Fault]:
    """The faults; raises `TypeError` for what is none."""
    if isinstance(given, str | Fault) or not isinstance(given, Sequence):
        raise TypeError(f"faults={given!r}: pass a list of faults")
    for one in given:
        if not isinstance(one, Fault):
            raise TypeError(f'{one!r} is no fault: pass Fault("rate_limited", {{"turn": 1}})')
    return given


def chaos(given: Any) -> Chaos | None:
    """The chaos; raises `TypeError` for what is none."""
    if given is None or isinstance(given, Chaos):
        return given
    raise TypeError(f"chaos={given!r}: pass Chaos({given!r}), from fakeprovider.faults")
