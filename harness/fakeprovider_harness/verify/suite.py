"""A run of a test suite, parsed: how many tests fail is a verdict and a measure of progress.

This is no sandbox: code under test can print and exit as it likes. A pass therefore needs a status
of 0, a summary, a test that passed and none that failed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.state import RunState
from fakeprovider_harness.tooling.process import run_process, tool_environment
from fakeprovider_harness.verify.verifier import Claim, Verdict, broken, failed, passed

_COUNT = r"\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun)"
_SUMMARY = re.compile(rf"^(?:=+ )?({_COUNT}(?:, {_COUNT})*)(?: in [^=]*)?(?: =+)?$", re.M)
_NAMED = re.compile(r"^(?:FAILED|ERROR) .*$", re.M)
_NONE = re.compile(r"^(?:=+ )?no tests (?:ran|collected)", re.M)

OK, FAILED, INTERRUPTED, NO_TESTS = 0, 1, 2, 5  # pytest's exit codes
MAX_NAMED = 20
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "120"}
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


class SuiteRun(msgspec.Struct, frozen=True):
    """What a run of tests came to; `status` is its exit status, `named` the tests that fail."""

    passed: int
    failed: int
    errors: int
    skipped: int = 0
    status: int = 0
    named: tuple[str, ...] = ()
    output: str = ""
    timed_out: bool = False

    @property
    def failing(self) -> int:
        """Tests that fail or cannot even be run: the number that should fall."""
        return self.failed + self.errors

    @property
    def green(self) -> bool:
        """Whether tests ran and none of them failed."""
        return self.status == OK and self.passed > 0 and self.failing == 0

    @property
    def red(self) -> bool:
        """Whether tests ran, or could not be collected, and some failed."""
        return self.status in (FAILED, INTERRUPTED) and self.failing > 0

    @property
    def words(self) -> str:
        """The counts and the failing tests, the same for the same outcome: no times, no paths."""
        counts = (("failed", self.failed), ("passed", self.passed), ("errors", self.errors))
        shown = ", ".join(f"{n} {word}" for word, n in counts if n) or "no tests ran"
        return "\n".join([shown, *self.named[:MAX_NAMED]])


def parse_pytest(output: str, status: int = 0) -> SuiteRun | None:
    """The counts that pytest printed last, None where it printed none."""
    found = _SUMMARY.findall(output)
    if not found:
        return SuiteRun(0, 0, 0, status=status, output=output) if _NONE.search(output) else None
    counts: dict[str, int] = {}
    for part in found[-1].split(", "):
        number, word = part.split(" ", 1)
        counts[word.rstrip("s") if word.startswith("error") else word] = int(number)
    return SuiteRun(
        counts.get("passed", 0),
        counts.get("failed", 0),
        counts.get("error", 0),
        counts.get("skipped", 0),
        status,
        tuple(_NAMED.findall(output)),
        output,
    )


def run_pytest(
    root: str | Path,
    arguments: Sequence[str] = (),
    *,
    cancel: Cancel | None = None,
    timeout: float | None = None,
    plugins: bool = True,
) -> SuiteRun:
    """Run pytest on `root` in a child process of this interpreter, and parse what it says.

    `plugins` off leaves installed plugins alone, which starts faster. A run without a summary has
    no counts, which is not green. Raises `OSError` where it cannot be started, `ProcessCancelled`
    once `cancel` is set.
    """
    options = ("-q", "--tb=line", "--no-header", "--color=no", "-p", "no:cacheprovider")
    finished = run_process(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cancel=cancel,
        timeout=timeout,
        cwd=root,
        environment=tool_environment(ENVIRONMENT if plugins else {**ENVIRONMENT, **NO_PLUGINS}),
    )
    parsed = parse_pytest(finished.output, finished.status)
    run = parsed or SuiteRun(0, 0, 0, status=finished.status, output=finished.output)
    return msgspec.structs.replace(run, timed_out=finished.timed_out)


def judge(run: SuiteRun) -> Verdict:
    """Green passes; red, and tests that are not there any more, fail; anything else is an error."""
    if run.timed_out:
        return broken("the tests did not end in time")
    if run.green:
        return passed(measure=0, tests=run.passed)
    if run.red:
        return failed(f"the tests fail.\n{run.words}", measure=run.failing)
    if run.status in (OK, NO_TESTS):
        return failed("no test passed: the tests that were there do not run any more.")
    return broken(f"the tests could not be run (status {run.status}): {run.output[-500:].strip()}")


class TestsPass:
    """Passes when the tests that `suite` runs are green: a function of a signal.

    `TestsPass.of(root)` runs pytest there.
    """

    __test__ = False  # pytest: not a test class

    def __init__(self, suite: Callable[[Cancel], SuiteRun]) -> None:
        self._suite = suite

    @classmethod
    def of(
        cls,
        root: str | Path,
        arguments: Sequence[str] = (),
        *,
        timeout: float | None = None,
        plugins: bool = True,
    ) -> TestsPass:
        """`run_pytest` on `root`; see there."""
        return cls(
            lambda cancel: run_pytest(
                root, arguments, cancel=cancel, timeout=timeout, plugins=plugins
            )
        )

    def __call__(self, claim: Claim) -> Verdict:
        return judge(self._suite(claim.cancel))


class TestsSeen:
    """Passes when the run itself has run its tests and they were green: nothing is run again.

    `tool` is the name of the tool whose result holds pytest's counts. A run of tests that is older
    than the last write is no evidence.
    """

    __test__ = False

    def __init__(self, tool: str = "run_tests") -> None:
        self._tool = tool

    def __call__(self, claim: Claim) -> Verdict:
        seen = last_seen(claim.state, self._tool)
        if seen is None:
            return failed(f"no test run was seen: call {self._tool}.")
        position, run = seen
        if position < claim.last_write:
            return failed(f"files were written after the last test run: call {self._tool} again.")
        return judge(run)


def last_seen(state: RunState, tool: str) -> tuple[int, SuiteRun] | None:
    """The last result of `tool` that holds counts, and its place in the transcript."""
    for position in range(len(state.messages) - 1, -1, -1):
        message = state.messages[position]
        if message.role == "tool" and message.name == tool and message.content:
            run = parse_pytest(message.content)
            if run is not None:
                status = FAILED if run.failing else OK
                return position, msgspec.structs.replace(run, status=status)
    return None


def failing_tests(state: RunState, tool: str = "run_tests") -> int | None:
    """How many tests failed when the run last ran them, None if it has not: a measure."""
    seen = last_seen(state, tool)
    return None if seen is None else seen[1].failing
