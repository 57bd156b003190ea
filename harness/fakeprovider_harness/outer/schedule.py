"""When a loop fires: intervals as people write them, and the tasks that are due."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from fakeprovider_harness.outer.plan_file import write
from fakeprovider_harness.outer.report import Spent

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
SHORTEST, LONGEST = MINUTE, HOUR  # seconds: what a model may choose
EXPIRY = 7 * DAY
MOST = 50
_INTERVAL = re.compile(r"(\d+)\s*([smhd])")
_SECONDS = {"s": 1.0, "m": MINUTE, "h": HOUR, "d": DAY}


class TooManyTasks(ValueError):
    """There are fifty scheduled tasks already."""


def parse_interval(text: str) -> tuple[float, str]:
    """Seconds of an interval such as "30s", "5m", "2h" or "1d", and what to say about it.

    Below a minute it is rounded up to one, which is said; else the words are empty. Raises
    `ValueError` for anything else, and for 0.
    """
    found = _INTERVAL.fullmatch(text.strip().lower())
    seconds = int(found.group(1)) * _SECONDS[found.group(2)] if found else 0.0
    if seconds <= 0:
        raise ValueError(f"{text!r} is not an interval: write it as 30s, 5m, 2h or 1d")
    if seconds < SHORTEST:
        return SHORTEST, f"{text} is below a minute: it is rounded up to 1m"
    return seconds, ""


def in_words(seconds: float) -> str:
    """A time to wait, in the largest unit that it fills."""
    units = {"day": DAY, "hour": HOUR, "minute": MINUTE, "second": 1.0}
    word = next((word for word, size in units.items() if seconds >= size), "second")
    shown = f"{seconds / units[word]:.3g}"
    return f"{shown} {word}" if shown == "1" else f"{shown} {word}s"


class Task(msgspec.Struct, omit_defaults=True):
    """A prompt that is said again and again; times in seconds since the epoch.

    `every` None: the model says each time when to go on. `due` None: it is being fired. `spent` is
    what its rounds have used, in whatever process; one that was broken off counts once it has come
    to its end.
    """

    id: int
    prompt: str
    every: float | None
    made: float
    due: float | None
    fired: int = 0
    spent: Spent = Spent()


class Schedule:
    """The tasks of a loop: at most fifty; those with an interval expire seven days after they were
    made, after a last firing.

    With `path` they are kept in that file, and found there by a later process.
    """

    def __init__(self, path: str | Path | None = None, *, expiry: float = EXPIRY) -> None:
        self._path = None if path is None else Path(path)
        self.expiry = expiry
        self.tasks: list[Task] = []
        if self._path is not None and self._path.exists():
            self.tasks = msgspec.json.decode(self._path.read_bytes(), type=list[Task])
            self._take_up()

    def add(self, prompt: str, now: float, every: float | None = None) -> Task:
        """A task that is due at once; raises `TooManyTasks` at fifty."""
        if len(self.tasks) >= MOST:
            raise TooManyTasks(f"{MOST} tasks are scheduled: remove one first")
        task = Task(max((task.id for task in self.tasks), default=0) + 1, prompt, every, now, now)
        self.tasks.append(task)
        self._keep()
        return task

    def remove(self, task: Task) -> None:
        """Never fire it again."""
        self.tasks.remove(task)
        self._keep()

    def next(self) -> Task | None:
        """The task that is due first; None where none is due ever."""
        waiting = [(task.due, task.id, task) for task in self.tasks if task.due is not None]
        return min(waiting)[2] if waiting else None

    def spent(self) -> Spent:
        """What the rounds of all tasks have used."""
        return sum((task.spent for task in self.tasks), Spent())

    def fire(self, task: Task) -> None:
        """Take note that a task is being fired: until it is put off again it is not due."""
        task.fired += 1
        task.due = None
        self._keep()

    def back(self, task: Task, now: float) -> None:
        """Let a fired task be due at once: it was broken off, by a person, a cap or a failure."""
        task.due = now
        self._keep()

    def again(self, task: Task, now: float, delay: float | None) -> bool:
        """Let a fired task wait for its interval or for `delay` seconds, from now: what was missed
        in the meantime is not made up for. False, and it is gone, where it has expired or there is
        nothing to wait for.
        """
        wait = delay if task.every is None else task.every
        if wait is None or self.expired(task, now):
            self.remove(task)
            return False
        task.due = now + wait
        self._keep()
        return True

    def expired(self, task: Task, now: float) -> bool:
        """Whether a task with an interval has lived its time."""
        return task.every is not None and now - task.made >= self.expiry

    def _take_up(self) -> None:
        """What was being fired when a process died is due since it was made."""
        for task in self.tasks:
            task.due = task.made if task.due is None else task.due

    def _keep(self) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write(self._path, msgspec.json.encode(self.tasks))
