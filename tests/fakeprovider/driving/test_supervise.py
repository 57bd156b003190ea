"""The supervisor, with real processes: it always returns, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakeprovider.driving.supervisor import MARK, Ended, Supervisor, _group_exists

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")


def python(source: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(source), *arguments]


@pytest.fixture
def token() -> Iterator[str]:
    """A word by which every process of this test is found afterwards, whatever it did."""
    word = f"supervise-test-{os.getpid()}-{time.monotonic_ns()}"
    yield word
    assert carriers(word) == []


def carriers(word: str) -> list[int]:
    """Processes whose command line carries the word (zombies have none)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in line:
                found.append(int(entry.name))
    return found


def test_status_and_output_are_the_commands_own() -> None:
    ended = Supervisor(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"),
        capture=1000,
    ).run()
    assert ended.status == 7
    assert ended.reason is None
    assert sorted(ended.output.split()) == [b"err", b"out"]


def test_a_signal_is_told_as_128_plus_its_number() -> None:
    ended = Supervisor(python("import os, signal; os.kill(os.getpid(), signal.SIGUSR1)")).run()
    assert ended.status == 128 + signal.SIGUSR1


@pytest.mark.parametrize(("mode", "status"), [(None, 127), (0o644, 126)])
def test_a_command_that_cannot_start_has_the_shells_status(
    tmp_path: Path, mode: int | None, status: int
) -> None:
    program = tmp_path / "program"
    if mode is not None:
        program.write_text("#!/bin/sh\n")
        program.chmod(mode)
    ended = Supervisor([str(program)], capture=10).run()
    assert ended.status == status
    assert str(program) in (ended.reason or "")


def test_output_is_inherited_unless_captured(capfd: pytest.CaptureFixture[str]) -> None:
    assert Supervisor(python("print('to the terminal')")).run().output == b""
    assert capfd.readouterr().out == "to the terminal\n"


def test_megabytes_of_output_never_block_and_leave_the_tail() -> None:
    ended = Supervisor(
        python(
            """
            import sys
            for _ in range(200):
                sys.stdout.write("x" * 50_000); sys.stderr.write("y" * 50_000)
            print("END")
            """
        ),
        capture=4096,
        timeout=30,
    ).run()
    assert ended.status == 0
    assert len(ended.output) == 4096
    assert ended.output.endswith(b"END\n")
    assert ended.dropped + len(ended.output) == 20_000_000 + len(b"END\n")


def test_timeout_ends_a_command_that_ignores_sigterm(token: str) -> None:
    ended = Supervisor(
        python(
            """
            import signal, time
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            print("deaf", flush=True)
            time.sleep(600)
            """,
            token,
        ),
        capture=100,
        timeout=0.5,
        grace=0.2,
    ).run()
    assert ended.status == 128 + signal.SIGKILL
    assert ended.reason == "timeout of 0.5 s"
    assert ended.output == b"deaf\n"


def test_a_command_that_cleans_up_within_its_grace_keeps_its_status() -> None:
    source = """
        import signal, sys, time
        def leave(*_):
            print("cleaned", flush=True); sys.exit(5)
        signal.signal(signal.SIGTERM, leave)
        print("ready\\n", end="", flush=True)  # in one write: the signal comes right after it
        time.sleep(600)
        """
    ended = run_and_stop_when_ready(Supervisor(python(source), capture=100), "enough")
    assert (ended.status, ended.reason) == (5, "enough")
    assert ended.output == b"ready\ncleaned\n"


def run_and_stop_when_ready(supervisor: Supervisor, reason: str) -> Ended:
    """Stop it from another thread, as the provider does, once it has printed a line."""

    def stop() -> None:
        tail = supervisor._tail
        assert tail is not None
        while not tail._kept:
            time.sleep(0.005)
        supervisor.stop(reason)

    threading.Thread(target=stop, daemon=True).start()
    return supervisor.run()


DAEMON = """
    import os, signal, sys, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            print("daemon", flush=True)  # it keeps stdout open
            time.sleep(600)
        os._exit(0)
    os.wait()
    time.sleep({rest})
    """


def test_a_daemon_that_left_the_session_and_holds_the_pipe_is_ended_too(token: str) -> None:
    ended = Supervisor(python(DAEMON.format(rest=0.3), token), capture=100, grace=0.2).run()
    assert ended.status == 0
    assert ended.output == b"daemon\n"


def test_children_are_ended_with_a_parent_that_is_stopped(token: str) -> None:
    source = """
        import subprocess, sys, time
        for _ in range(3):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]])
        print("forked", flush=True)
        time.sleep(600)
        """
    ended = run_and_stop_when_ready(Supervisor(python(source, token), capture=100), "gate")
    assert ended.status == 128 + signal.SIGTERM


def test_a_process_that_keeps_forking_is_caught(token: str) -> None:
    source = """
        import os, signal, time
        signal.signal(signal.SIGTERM, lambda *_: None)
        print("breeding", flush=True)
        for _ in range(200):  # each child takes over from its parent
            if os.fork():
                os._exit(0)
            time.sleep(0.005)
        time.sleep(600)
        """
    ended = run_and_stop_when_ready(Supervisor(python(source, token), capture=99, grace=0.3), "x")
    assert ended.status in (0, 128 + signal.SIGTERM)


def test_a_daemon_in_a_cleared_environment_does_not_keep_the_caller_waiting(token: str) -> None:
    """Out of the session and without the mark it is a stranger; its pipe is let go of."""
    source = """
        import os, subprocess, sys
        pid = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]],
                               env={}, start_new_session=True).pid
        print(pid)
        """
    ended = Supervisor(python(source, token), capture=100, timeout=60).run()
    os.kill(int(ended.output), signal.SIGKILL)
    assert ended.status == 0
    deadline = time.monotonic() + 5
    while carriers(token) and time.monotonic() < deadline:
        time.sleep(0.01)


OUTER = """
    import subprocess, sys
    from fakeprovider.driving.supervisor import Supervisor
    command = [sys.executable, "-c", sys.argv[2], sys.argv[1]]
    ended = Supervisor(command, grace=float(sys.argv[3])).run()
    print(ended.status, ended.reason, flush=True)
    """


def supervised_by_a_process(inner: str, token: str, grace: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        python(OUTER, token, textwrap.dedent(inner), str(grace)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_sigint_is_forwarded_and_a_command_that_handles_it_goes_on(token: str) -> None:
    inner = """
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # kept until waited for
        print("ready", flush=True)
        signal.sigwait([signal.SIGINT]); print("interrupted", flush=True)
        print("goes on", flush=True)
        """
    with supervised_by_a_process(inner, token, 5.0) as outer:
        assert first_line(outer) == "ready\n"
        outer.send_signal(signal.SIGINT)
        assert outer.communicate(timeout=60)[0] == "interrupted\ngoes on\n0 None\n"


@pytest.mark.parametrize(
    ("signals", "reason"),
    [
        ([signal.SIGTERM], "received SIGTERM"),
        ([signal.SIGHUP], "received SIGHUP"),
        ([signal.SIGINT], "received SIGINT"),
    ],
)
def test_a_terminating_signal_ends_a_deaf_command_after_its_grace(
    token: str, signals: list[signal.Signals], reason: str
) -> None:
    inner = """
        import signal, time
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            signal.signal(getattr(signal, name), lambda *_: print("no", flush=True))
        print("ready", flush=True)
        while True:
            time.sleep(600)
        """
    with supervised_by_a_process(inner, token, 0.3) as outer:
        assert first_line(outer) == "ready\n"
        for number in signals:
            outer.send_signal(number)
            assert first_line(outer) == "no\n"
        rest = outer.communicate(timeout=60)[0]
        assert rest.splitlines()[-1] == f"137 {reason}"


def test_a_second_sigint_does_not_wait_for_the_grace_of_the_first(token: str) -> None:
    inner = """
        import signal, time
        signal.signal(signal.SIGINT, lambda *_: print("no", flush=True))
        print("ready", flush=True)
        while True:
            time.sleep(600)
        """
    with supervised_by_a_process(inner, token, 300.0) as outer:
        assert first_line(outer) == "ready\n"
        outer.send_signal(signal.SIGINT)
        assert first_line(outer) == "no\n"
        outer.send_signal(signal.SIGINT)
        output, told = outer.communicate(timeout=60)
        # SIGTERM follows the second one at once: there may be no time left to say "no"
        assert output.removeprefix("no\n") == "143 received SIGINT twice\n"
        assert told == "fakeprovider: SIGINT passed on; in 300 s, or at another, it is ended\n"


def test_user_signals_reach_the_command() -> None:
    inner = """
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        print("ready", flush=True)
        signal.sigwait([signal.SIGUSR1]); print("usr1", flush=True)
        """
    with supervised_by_a_process(inner, "-", 1.0) as outer:
        assert first_line(outer) == "ready\n"
        outer.send_signal(signal.SIGUSR1)
        assert outer.communicate(timeout=60)[0] == "usr1\n0 None\n"


def test_handlers_of_the_caller_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    Supervisor(python("")).run()
    assert signal.getsignal(signal.SIGTERM) is before


def test_from_another_thread_it_runs_without_forwarding() -> None:
    ended: list[Ended] = []
    thread = threading.Thread(target=lambda: ended.append(Supervisor(python("")).run()))
    thread.start()
    thread.join(timeout=60)
    assert [one.status for one in ended] == [0]


def test_marks_are_chained_so_that_an_outer_supervisor_finds_what_an_inner_one_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(MARK, "outer")
    ended = Supervisor(python(f"import os; print(os.environ['{MARK}'])"), capture=100).run()
    assert ended.output.startswith(b"outer/")


def test_many_captures_leave_no_descriptor_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for command in (python("print(1)"), ["/nowhere/to/be/found"]):
        for _ in range(3):
            Supervisor(command, capture=10).run()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_process_that_became_another_users_does_not_keep_the_rest_from_being_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a command under sudo does: it may be seen, and not signalled."""
    supervisor = Supervisor([sys.executable, "-c", "print('x')"], capture=100, grace=0.1)
    real = os.kill
    refused: list[int] = []

    def kill(pid: int, signum: int) -> None:
        if pid == stranger.pid:
            refused.append(pid)
            raise PermissionError
        real(pid, signum)

    with subprocess.Popen(
        [sys.executable, "-c", "input()"],
        stdin=subprocess.PIPE,
        env={MARK: supervisor._token},
        start_new_session=True,
    ) as stranger:
        monkeypatch.setattr(os, "kill", kill)
        ended = supervisor.run()
        stranger.communicate(b"\n", timeout=60)
    assert (ended.status, ended.output) == (0, b"x\n")
    if sys.platform == "linux":
        assert refused


def test_a_group_of_which_only_a_zombie_is_left_counts_as_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """macOS refuses to signal one, where Linux sees nothing wrong."""

    def killpg(group: int, signum: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "killpg", killpg)
    assert not _group_exists(1)


def test_a_command_that_was_reaped_before_anybody_waits_for_it_has_ended() -> None:
    """As where the process is ended at once, and the thread that waits for it comes to run late."""
    supervisor = Supervisor(["true"])
    process = subprocess.Popen(["true"])
    process.wait()
    supervisor._await_exit(process)
    assert supervisor._next_event(0.0) is not None
