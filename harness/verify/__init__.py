"""Verifiers: what "done" means, checked by something other than the model that says so."""

from harness.verify.baseline import Baseline, Changes, FileChange
from harness.verify.command import CommandSucceeds
from harness.verify.evaluator import Evaluator, Opinion
from harness.verify.features import Feature, Features
from harness.verify.patterns import TESTS
from harness.verify.protected import protect
from harness.verify.redgreen import RedGreen
from harness.verify.suite import (
    SuiteRun,
    TestsPass,
    TestsSeen,
    failing_tests,
    parse_pytest,
    run_pytest,
)
from harness.verify.untouched import Untouched
from harness.verify.verdict import Verdict, broken, failed, passed, stale, unreachable
from harness.verify.verifier import Answer, Claim, Verifier

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
