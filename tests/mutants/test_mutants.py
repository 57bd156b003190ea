"""The contract finds every mutant of our own harness, and says by which clause.

A mutant is a patch to the real source, applied to a copy that a child process imports in place of
the package; the working tree is not touched. Where the patched text is gone the test says so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = "fakeprovider_harness"
Judge: TypeAlias = Callable[..., dict[str, Any]]

MUTANTS: list[dict[str, str]] = yaml.safe_load((HERE / "mutants.yaml").read_text())


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """What the contract says of the harness in a folder; one process for all of them."""
    popen = subprocess.Popen(
        [sys.executable, str(HERE / "judge.py")],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert popen.stdin is not None
    assert popen.stdout is not None

    def check(tree: Path, *clauses: str) -> dict[str, Any]:
        assert popen.stdin is not None
        assert popen.stdout is not None
        print(json.dumps({"tree": str(tree), "clauses": clauses}), file=popen.stdin, flush=True)
        outcome: dict[str, Any] = json.loads(popen.stdout.readline())
        assert Path(outcome["harness"]).is_relative_to(tree)
        return outcome

    yield check
    popen.stdin.close()
    popen.stdout.close()
    assert popen.wait(timeout=30) == 0


def patched(mutant: dict[str, str], tree: Path) -> None:
    """A copy of the harness with the mutant's one change."""
    shutil.copytree(
        ROOT / "harness" / PACKAGE, tree / PACKAGE, ignore=shutil.ignore_patterns("__pycache__")
    )
    file = tree / PACKAGE / mutant["file"]
    source = file.read_text()
    count = source.count(mutant["old"])
    if count != 1:
        pytest.fail(
            f"mutant {mutant['name']}: its text stands {count} times in "
            f"{PACKAGE}/{mutant['file']}, not once; "
            f"bring tests/mutants/mutants.yaml up to date:\n{mutant['old']}"
        )
    file.write_text(source.replace(mutant["old"], mutant["new"]))


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant["name"] for mutant in MUTANTS])
def test_the_contract_finds_the_mutant(
    mutant: dict[str, str], tmp_path: Path, judge: Judge
) -> None:
    patched(mutant, tmp_path)
    outcome = judge(tmp_path, mutant["clause"])
    assert outcome["broken"] == [mutant["clause"]], mutant["about"]
    assert outcome["message"].startswith(f"the stop contract is broken: {mutant['clause']}\n")
    assert "Case(" in outcome["message"]


def test_no_clause_is_broken_by_the_harness_without_a_mutant(judge: Judge) -> None:
    outcome = judge(ROOT / "harness")
    assert (outcome["broken"], set(outcome["results"].values())) == ([], {"pass"}), outcome[
        "message"
    ]


def test_a_mutant_whose_text_is_gone_fails_by_name(tmp_path: Path) -> None:
    gone = {**MUTANTS[0], "old": "this stands nowhere"}
    with pytest.raises(pytest.fail.Exception, match=f"mutant {gone['name']}.*0 times"):
        patched(gone, tmp_path)
