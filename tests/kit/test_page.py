"""The page "Test your agent loop": its files are written as they stand there, and pytest is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fakeprovider.contract import CONTRACT

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parents[2] / "docs" / "test-your-agent-loop.md").read_text()
FILES = dict(re.findall(r"```python (\S+)\n(.*?)```", PAGE, re.DOTALL))


def test_every_block_runs(pytester: pytest.Pytester) -> None:
    for name, code in FILES.items():
        pytester.path.joinpath(name).write_text(code)
    pytester.makeini(
        "[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n"
    )
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", timeout=110)
    result.assert_outcomes(passed=len(re.findall(r"^def test_", "".join(FILES.values()), re.M)))


def test_every_python_block_is_a_file_that_is_run() -> None:
    assert len(FILES) == len(re.findall(r"```python", PAGE)) == 6


def test_the_page_says_how_many_clauses_there_are_and_names_what_needs_a_report() -> None:
    assert len(CONTRACT) == 20
    assert "holds twenty clauses" in PAGE
    promised = {clause.name for clause in CONTRACT.values() if clause.promise}
    table = PAGE[PAGE.index("| `Report` |") : PAGE.index("A command is checked")]
    assert promised <= set(re.findall(r"`(\w+)`", table))
