"""A command as a test names it, and how it ended in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakeprovider.supervise import NOT_FOUND, Ended

_LINES = 20  # of its output that are shown


def checked(given: Any) -> tuple[str, ...]:
    """The command; raises `TypeError` for what is none, with what to pass."""
    __tracebackhide__ = True
    if isinstance(given, str | bytes):
        raise TypeError(
            f"{given!r} is one text: pass the command as a list, such as "
            f"{str(given).split() if isinstance(given, str) else ['python', 'agent.py']!r}"
        )
    if not isinstance(given, Sequence):
        raise TypeError(f"{given!r} is no agent: pass a function, or a command as a list")
    if not given:
        raise TypeError("an empty list is no command: its first entry is the program")
    for one in given:
        if not isinstance(one, str):
            raise TypeError(f"a command is a list of texts, and {one!r} ({type(one).__name__}) not")
    return tuple(given)


def last_words(command: Sequence[str], ended: Ended) -> str:
    """How it ended: its exit status, why, and the last lines that it wrote."""
    why = f" ({ended.reason})" if ended.reason else ""
    if ended.status == NOT_FOUND and not ended.started:
        why = f" (command not found: {command[0]}){why}"
    lines = ended.output.decode(errors="replace").splitlines()[-_LINES:]
    return "\n".join([f"the command ended with status {ended.status}{why}", *lines])
