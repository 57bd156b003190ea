"""Verifiers: what "done" means, checked by something other than the model that says so."""

from fakeprovider_harness.verify.baseline import (
    TESTS,
    Baseline,
    Changes,
    FileChange,
    Untouched,
    protect,
)
from fakeprovider_harness.verify.command import CommandSucceeds, RedGreen
from fakeprovider_harness.verify.evaluator import Evaluator, Opinion
from fakeprovider_harness.verify.features import Feature, Features
from fakeprovider_harness.verify.suite import (
    SuiteRun,
    TestsPass,
    TestsSeen,
    failing_tests,
    parse_pytest,
    run_pytest,
)
from fakeprovider_harness.verify.verifier import (
    Answer,
    Claim,
    Verdict,
    Verifier,
    broken,
    failed,
    passed,
    stale,
    unreachable,
)

__all__ = [
    "TESTS",
    "Answer",
    "Baseline",
    "Changes",
    "Claim",
    "CommandSucceeds",
    "Evaluator",
    "Feature",
    "Features",
    "FileChange",
    "Opinion",
    "RedGreen",
    "SuiteRun",
    "TestsPass",
    "TestsSeen",
    "Untouched",
    "Verdict",
    "Verifier",
    "broken",
    "failed",
    "failing_tests",
    "parse_pytest",
    "passed",
    "protect",
    "run_pytest",
    "stale",
    "unreachable",
]
