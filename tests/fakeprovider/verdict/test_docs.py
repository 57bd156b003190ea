"""The page about verdicts says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fakeprovider.contract import clauses, trial
from fakeprovider.verdict import calls, read_effects, retries

PAGE = Path(__file__).parents[3] / "docs" / "verdicts.md"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text()


def test_its_numbers_are_those_of_the_code(page: str) -> None:
    assert f"more than {retries.MOST_ATTEMPTS} attempts" in page
    assert f"{retries.IN_A_ROW} retries in a row less than {retries.AT_ONCE} s" in page
    assert f"made more than {clauses.MOST_ATTEMPTS} times" in page
    assert f"did not end within {trial.PROMPTLY:g} s" in page
    assert f"more than {calls.MOST_ALIKE} times among the last {calls.WINDOW}" in page


def test_its_snippet_and_its_ledger_can_be_used(page: str, tmp_path: Path) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shown: list[str] = []
    exec(snippet.replace("print(", "shown.append("), {"shown": shown})
    assert "not applicable" in shown[0]
    (ledger,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "effects.jsonl"
    path.write_text(ledger)
    assert [effect.decision for effect in read_effects(path)] == ["approved", "", "rejected"]
