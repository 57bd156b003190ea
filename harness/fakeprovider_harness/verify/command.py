"""A command as a verifier: its exit status decides, the end of its output is the feedback."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fakeprovider_harness import quantities
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.quantities import expect
from fakeprovider_harness.tooling.process import Finished, run_process, tool_environment
from fakeprovider_harness.verify.baseline import Baseline
from fakeprovider_harness.verify.suite import SuiteRun, judge, run_pytest
from fakeprovider_harness.verify.verifier import Claim, Verdict, broken, failed, passed

NOT_RUN = (126, 127)
"""Statuses with which a shell says that it could not start the command (POSIX)."""

SHOWN = 2_000
"""Characters of output that the model is shown."""


class CommandSucceeds:
    """Passes when `command` ends with status 0.

    It runs in `cwd` without provider keys in its environment; `environment` adds variables.
    A command that cannot be started is an error of the check; so is one that takes longer than
    `timeout` seconds, unless `timeout_fails` says that this is the fault of what is checked.
    Raises `TypeError` for a command that is no list of words, `ValueError` for an empty one.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | Path | None = None,
        timeout: float | None = None,
        timeout_fails: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        wanted = "CommandSucceeds: command is a list of words, such as ['pytest', '-q']"
        words = not isinstance(command, str | bytes) and isinstance(command, Sequence)
        expect(words and all(isinstance(word, str) for word in command), wanted, command)
        if not command:
            raise ValueError(f"{wanted}; not {command!r}")
        quantities.amount("CommandSucceeds: timeout", timeout)
        self._command = tuple(command)
        self._cwd = cwd
        self._timeout = timeout
        self._timeout_fails = timeout_fails
        self._environment = environment

    def __call__(self, claim: Claim) -> Verdict:
        return self._judge(
            run_process(
                self._command,
                cancel=claim.cancel,
                timeout=self._timeout,
                cwd=self._cwd,
                environment=tool_environment(self._environment),
            )
        )

    def _judge(self, finished: Finished) -> Verdict:
        shown = " ".join(self._command)
        if finished.timed_out:
            words = f"{shown} did not end within {self._timeout:g} s"
            return failed(words) if self._timeout_fails else broken(words)
        if finished.status in NOT_RUN:
            said = finished.output[-SHOWN:].strip() or f"status {finished.status}"
            return broken(f"{shown} could not be run: {said}")
        if finished.status == 0:
            return passed(status=0)
        said = finished.output[-SHOWN:].strip()
        text = f"{shown} ended with status {finished.status}."
        return failed(f"{text}\n{said}" if said else text, status=finished.status)


Suite = Callable[[Path, Cancel], SuiteRun]


class RedGreen:
    """Passes when tests are green on the project and red on a copy without the code's changes.

    The copy has the tests as they are now and the code as it was in `baseline`: a test that is
    green both ways proves nothing. `suite` runs the tests that count on a directory; `tests` names
    them for pytest (all of them by default).
    """

    def __init__(
        self,
        baseline: Baseline,
        *,
        tests: tuple[str, ...] = (),
        suite: Suite | None = None,
        timeout: float | None = None,
        plugins: bool = True,
    ) -> None:
        self._baseline = baseline
        self._suite = suite or (
            lambda root, cancel: run_pytest(
                root, tests, cancel=cancel, timeout=timeout, plugins=plugins
            )
        )

    def __call__(self, claim: Claim) -> Verdict:
        green = judge(self._suite(self._baseline.root, claim.cancel))
        if green.kind != "pass":
            return green
        changed = [change.path for change in self._baseline.changes().code]
        if not changed:
            return failed("the tests pass, but no code was changed: there is no fix to prove.")
        with self._baseline.without_code_changes() as copy:
            red = self._suite(copy, claim.cancel)
        return _compare(red, changed)


def _compare(red: SuiteRun, changed: list[str]) -> Verdict:
    if red.green:
        return failed(
            f"the tests pass without the changes to {', '.join(changed)} too: they prove nothing. "
            "Write a test that fails without the fix."
        )
    if not red.red:
        return broken(f"the tests could not be run without the fix (status {red.status})")
    return passed(measure=0, code_changes=changed, red=red.words)
