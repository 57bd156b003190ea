"""A check counts only while what it looks at is not the work of the run itself."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness.verify.asking import asked
from harness.verify.baseline import Baseline, FileChange
from harness.verify.verdict import Verdict, failed, stale
from harness.verify.verifier import Claim, Verifier


class Untouched:
    """`verifier`, held against a baseline.

    A change of a protected file fails, by whatever means it was made. A pass after other changes
    to tests is stale: they are listed, apart from the diff of the code, for a person to look at.
    `RedGreen` needs no such guard for the test that proves a fix.
    """

    def __init__(self, verifier: Verifier, baseline: Baseline) -> None:
        self._verifier, self._baseline = verifier, baseline

    async def __call__(self, claim: Claim) -> Verdict:
        changes = self._baseline.changes()
        if changes.protected:
            return failed(
                f"protected files were changed: {_names(changes.protected)}. Restore them.",
                protected=_data(changes.protected),
            )
        verdict = await asked(self._verifier, claim)
        evidence = {
            **verdict.evidence,
            "code_changes": _data(changes.code),
            "test_changes": _data(changes.tests),
        }
        if verdict.kind == "pass" and changes.tests:
            why = f"the check passes, but the run changed tests: {_names(changes.tests)}"
            return stale(why, **evidence)
        return msgspec.structs.replace(verdict, evidence=evidence)


def _names(changes: Sequence[FileChange]) -> str:
    return ", ".join(f"{change.path} ({change.kind})" for change in changes)


def _data(changes: Sequence[FileChange]) -> list[dict[str, str]]:
    return [msgspec.to_builtins(change) for change in changes]
