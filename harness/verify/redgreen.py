"""Evidence for a fix: its test passes with it, and fails when only the fix is taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.cancel import Cancel
from harness.verify.baseline import Baseline
from harness.verify.suite import SuiteRun, judge, run_pytest
from harness.verify.verdict import Verdict, broken, failed, passed
from harness.verify.verifier import Claim

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
