"""A command as a verifier: its exit status decides, the end of its output is the feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import quantities
from harness.process import Finished, run_process, tool_environment
from harness.refusals import expect
from harness.verify.verdict import Verdict, broken, failed, passed
from harness.verify.verifier import Claim

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
