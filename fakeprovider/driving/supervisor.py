"""The one supervisor of other people's processes (POSIX).

A harness under test may fork, ignore SIGTERM, leave a daemon behind or print megabytes. It is
started as the leader of its own session; whatever it left there or anywhere else is ended with it.
"""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType

MARK = "FAKEPROVIDER_SUPERVISED"
"""Environment variable by which descendants that left the session are still found (Linux)."""

FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT")
"""Signals that are passed on to the command's process group."""

TERMINATING = frozenset({"SIGTERM", "SIGHUP", "SIGQUIT"})
"""Signals after which everything the command started has only its grace left; a second SIGINT too.
"""

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""Exit statuses of a command that could not be started, as POSIX shells give them."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a supervised command ended.

    `status` is its exit status, 128 + the signal's number if a signal ended it, 126 or 127 if it
    could not be started. `reason` says why the supervisor ended it, None if it ended by itself.
    `seconds` is the wall-clock time it ran. `output` is the tail of its stdout and stderr, in the
    order written, if it was captured, and `dropped` the number of bytes before that tail.
    `started` is false where the command could not be started.
    """

    status: int
    seconds: float
    reason: str | None = None
    output: bytes = b""
    dropped: int = 0
    started: bool = True


@dataclass(frozen=True, slots=True)
class _Exited:
    """The leader has ended."""


@dataclass(frozen=True, slots=True)
class _Signalled:
    """This process received a signal."""

    name: str


@dataclass(frozen=True, slots=True)
class _StopRequested:
    """`Supervisor.stop` was called."""

    reason: str


_FINAL_READS = 64
"""Reads of 64 KiB after `close`: what is in the pipe, not what somebody goes on to write."""


class _Tail:
    """Keeps the last `limit` bytes written to the descriptor `writer`.

    A thread drains the pipe whatever its size; `close` does not wait for a process that
    keeps the pipe open.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._reader, self.writer = os.pipe()
        self._wake_reader, self._wake = os.pipe()
        self._kept = bytearray()
        self._dropped = 0
        self._thread = threading.Thread(target=self._drain, daemon=True)

    def start(self) -> None:
        """Begin to drain; to be called once the child holds `writer`, which is closed here."""
        os.close(self.writer)
        os.set_blocking(self._reader, False)
        self._thread.start()

    def close(self) -> tuple[bytes, int]:
        """Stop, and return the tail and the number of bytes dropped before it."""
        os.close(self._wake)
        self._thread.join()
        os.close(self._reader)
        os.close(self._wake_reader)
        return bytes(self._kept), self._dropped

    def _drain(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            selector.register(self._wake_reader, selectors.EVENT_READ)
            patience = _FINAL_READS
            while patience > 0:
                ready = {key.fd for key, _ in selector.select()}
                if self._reader in ready and not self._read_once():
                    return
                if self._wake_reader in ready:
                    patience = patience - 1 if self._reader in ready else 0

    def _read_once(self) -> bool:
        try:
            chunk = os.read(self._reader, 65536)
        except BlockingIOError:
            return True
        self._kept += chunk
        excess = len(self._kept) - self.limit
        if excess > 0:
            del self._kept[:excess]
            self._dropped += excess
        return bool(chunk)


class Supervisor:
    """Runs one command to its end and leaves no process behind.

    command: program and arguments, found through PATH, no shell.
    env: the whole environment, in seconds `timeout` after which it is ended, and `grace` between
    SIGTERM and SIGKILL. capture: keep the last so many bytes of its output (None: it inherits
    ours). stdin: a file descriptor or `subprocess.DEVNULL` (None: inherited).
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        timeout: float | None = None,
        grace: float = 5.0,
        capture: int | None = None,
        stdin: int | None = None,
    ) -> None:
        self.command = tuple(command)
        self.cwd = cwd
        self.timeout = timeout
        self.grace = grace
        self.stdin = stdin
        self._token = secrets.token_hex(8)
        self._env = _marked(os.environ if env is None else env, self._token)
        self._tail = None if capture is None else _Tail(capture)
        self._events: SimpleQueue[_Exited | _Signalled | _StopRequested] = SimpleQueue()

    def stop(self, reason: str) -> None:
        """Ask for the command to be ended, from any thread; the first reason is kept."""
        self._events.put(_StopRequested(reason))

    def run(self) -> Ended:
        """Start the command, wait for it, end what it left, and say how it went.

        From the main thread, signals are forwarded to the command while it runs: SIGTERM, SIGHUP
        and SIGQUIT, or a second SIGINT, leave it `grace` seconds. After the first SIGINT it has
        `grace` seconds to end by itself, which is said on stderr.
        """
        if sys.platform == "win32":
            raise OSError("supervising processes needs POSIX process groups")
        started = time.monotonic()
        with _forwarding(self._events):
            try:
                process = self._start()
            except OSError as error:
                self._output()
                return _not_started(error, time.monotonic() - started)
            reason, first = "", signal.SIGTERM
            try:
                reason, first = self._watch(process)
            finally:
                self._end(process, first)
        output, dropped = self._output()
        status = process.returncode
        return Ended(
            status=status if status >= 0 else 128 - status,
            seconds=time.monotonic() - started,
            reason=reason or None,
            output=output,
            dropped=dropped,
        )

    def _output(self) -> tuple[bytes, int]:
        return (b"", 0) if self._tail is None else self._tail.close()

    def _start(self) -> subprocess.Popen[bytes]:
        sink = None if self._tail is None else self._tail.writer
        try:
            process = subprocess.Popen(
                self.command,
                env=self._env,
                cwd=self.cwd,
                stdin=self.stdin,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        finally:
            if self._tail is not None:
                self._tail.start()
        threading.Thread(target=self._await_exit, args=(process,), daemon=True).start()
        return process

    def _await_exit(self, process: subprocess.Popen[bytes]) -> None:
        if hasattr(os, "waitid"):
            # Left unreaped, so that its number cannot be given to a stranger while we signal it.
            with suppress(ChildProcessError):  # it was ended, and reaped, before this thread ran
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()
        self._events.put(_Exited())

    def _watch(self, process: subprocess.Popen[bytes]) -> tuple[str, signal.Signals]:
        """Wait until the command has ended or must be: why (or ""), and what to say to the rest."""
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        overdue = f"timeout of {self.timeout:g} s" if self.timeout is not None else ""
        interrupts = 0
        while True:
            match self._next_event(deadline):
                case None:
                    return overdue, signal.SIGTERM
                case _Exited():
                    return "", signal.SIGTERM
                case _StopRequested(reason):
                    return reason, signal.SIGTERM
                case _Signalled(name) if name in TERMINATING:
                    return f"received {name}", signal.Signals[name]
                case _Signalled(name):
                    _signal_group(process.pid, signal.Signals[name])
                    interrupts += name == "SIGINT"
                    if interrupts == 2:
                        return f"received {name} twice", signal.SIGTERM
                    if name == "SIGINT":
                        _say(f"SIGINT passed on; in {self.grace:g} s, or at another, it is ended")
                        patience = time.monotonic() + self.grace
                        if deadline is None or patience < deadline:
                            deadline, overdue = patience, f"received {name}"

    def _next_event(self, deadline: float | None) -> _Exited | _Signalled | _StopRequested | None:
        remaining = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            return self._events.get(timeout=remaining)
        except Empty:
            return None

    def _end(self, process: subprocess.Popen[bytes], first: signal.Signals) -> None:
        if not self._await_none(process, first, self.grace):
            self._await_none(process, signal.SIGKILL, self.grace)
        # A chain of forks can run ahead of any look at the process table, but not of this.
        _signal_group(process.pid, signal.SIGKILL)
        self._await_none(process, signal.SIGKILL, self.grace)
        process.wait()

    def _await_none(
        self, process: subprocess.Popen[bytes], signum: signal.Signals, seconds: float
    ) -> bool:
        """Signal whatever is alive, also what is forked meanwhile, until nothing is or time is up.

        Returns whether nothing is left alive.
        """
        deadline = time.monotonic() + seconds
        signalled: set[int] = set()
        pause = 0.002
        while alive := _alive(process.pid, self._token):
            for pid in alive - signalled:
                _signal_one(pid, signum)
            signalled |= alive
            if time.monotonic() >= deadline or self._hurried():
                return False
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
        return True

    def _hurried(self) -> bool:
        """Whether somebody pressed Ctrl-C while the command was being ended."""
        event = self._next_event(time.monotonic())
        return isinstance(event, _Signalled) and event.name == "SIGINT"


def _say(text: str) -> None:
    print(f"fakeprovider: {text}", file=sys.stderr, flush=True)


def _marked(env: Mapping[str, str], token: str) -> dict[str, str]:
    """The environment with the mark of this supervisor."""
    # Chained, so that an outer supervisor still finds what an inner one started.
    outer = os.environ.get(MARK)
    return {**env, MARK: f"{outer}/{token}" if outer else token}


def _not_started(error: OSError, seconds: float) -> Ended:
    """The end of a command that did not start."""
    status = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    reason = f"could not be started: {error.strerror or error}"
    if error.filename is not None:
        reason += f": {os.fsdecode(error.filename)}"
    return Ended(status=status, seconds=seconds, reason=reason, started=False)


@contextmanager
def _forwarding(events: SimpleQueue[_Exited | _Signalled | _StopRequested]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, _frame: FrameType | None) -> None:
        events.put(_Signalled(signal.Signals(number).name))

    numbers = [signal.Signals[name] for name in FORWARDED]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _signal_group(leader: int, signum: signal.Signals) -> None:
    try:
        os.killpg(leader, signum)
    except (ProcessLookupError, PermissionError):
        return  # the whole group has ended (macOS: only a zombie is left): nobody to tell


def _signal_one(pid: int, signum: signal.Signals) -> None:
    try:
        os.killpg(-pid, signum) if pid < 0 else os.kill(pid, signum)
    except (ProcessLookupError, PermissionError):
        return  # it has ended since it was seen, or became another user's (sudo)


def _alive(leader: int, token: str) -> set[int]:
    """Living processes of the leader's session, and those that carry the mark.

    Without /proc (macOS) the group as a whole is named, by its negated number.
    """
    if not os.path.isdir("/proc/self"):
        return {-leader} if _group_exists(leader) else set()
    return {pid for pid in _processes() if _belongs(pid, leader, token)}


def _group_exists(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):  # macOS: only a zombie is left
        return False
    return True


def _processes() -> Iterator[int]:
    own = os.getpid()
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit() and int(entry.name) != own:
                yield int(entry.name)


def _belongs(pid: int, leader: int, token: str) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        # After the name in parentheses: state, parent, group, session.
        state, _parent, _group, session = stat[stat.rindex(b")") + 2 :].split()[:4]
        if state in b"ZX":
            return False
        return int(session) == leader or token.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False  # gone meanwhile, or somebody else's
