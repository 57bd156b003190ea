"""A command as a test names it, and how it ended in words."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fakeprovider.driving.supervisor import NOT_FOUND, Ended, Supervisor
from fakeprovider.verdict import ClauseResult, Facts

if TYPE_CHECKING:
    from fakeprovider.testing.run import Run


_LINES = 20  # of a command's output that are shown
_OUTPUT = 1 << 16  # bytes of it that are kept


def checked(command: Any) -> tuple[str, ...]:
    """The command; raises `TypeError` for what is none, with what to pass."""
    __tracebackhide__ = True
    if isinstance(command, str | bytes):
        raise TypeError(
            f"{command!r} is one text: pass the command as a list, such as "
            f"{command.split() if isinstance(command, str) else ['python', 'agent.py']!r}"
        )
    if not isinstance(command, Sequence):
        raise TypeError(f"{command!r} is no agent: pass a function, or a command as a list")
    if not command:
        raise TypeError("an empty list is no command: its first entry is the program")
    for word in command:
        if not isinstance(word, str):
            kind = type(word).__name__
            raise TypeError(f"a command is a list of texts, and {word!r} ({kind}) not")
    return tuple(command)


def last_words(command: Sequence[str], ended: Ended) -> str:
    """How it ended: its exit status, why, and the last lines that it wrote."""
    why = f" ({ended.reason})" if ended.reason else ""
    if ended.status == NOT_FOUND and not ended.started:
        why = f" (command not found: {command[0]}){why}"
    lines = ended.output.decode(errors="replace").splitlines()[-_LINES:]
    return "\n".join([f"the command ended with status {ended.status}{why}", *lines])


@dataclass(frozen=True, slots=True)
class Drove:
    """How it went.

    `value` is what a function returned, `error` what it raised once its requests were refused.
    `ended` is how a command ended, None for a function. `stopped` says that it had to be stopped.
    """

    run: Run
    value: Any = None
    error: Exception | None = None
    ended: Ended | None = None
    stopped: bool = False

    @property
    def status(self) -> int | None:
        """A command's exit status."""
        return None if self.ended is None else self.ended.status

    @property
    def output(self) -> str:
        """The end of what a command wrote, stdout and stderr together."""
        return "" if self.ended is None else self.ended.output.decode(errors="replace")

    def verdict(self, facts: Facts | None = None) -> list[ClauseResult]:
        """How the agent took it, clause by clause."""
        return self.run.verdict(facts or Facts(ended=not self.stopped))


def drive_function(agent: Callable[[Run], Any], run: Run) -> Drove:
    """Call it in this thread; raises what it raises, unless its requests had been refused."""
    __tracebackhide__ = True
    try:
        value = agent(run)
    except Exception as error:
        if not run.refused:
            raise
        return Drove(run, error=error, stopped=True)
    return Drove(run, value, stopped=bool(run.refused))


def drive_command(command: Sequence[str], run: Run, timeout: float | None) -> Drove:
    """Run it, with the environment that points it to the provider; leaves no process behind."""
    __tracebackhide__ = True
    command = checked(command)
    supervisor = Supervisor(
        command,
        env={**os.environ, **run.environment},
        timeout=timeout,
        capture=_OUTPUT,
    )
    run.on_refusal = supervisor.stop
    ended = supervisor.run()
    run.last_words = last_words(command, ended)
    return Drove(run, ended=ended, stopped=ended.reason is not None)
