"""The pytest plugin, as somebody else's test suite has it: each test here runs pytest as a process.

The suites are files under `suites/`, and what they state is in them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUITES = Path(__file__).parent / "suites"


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A repository with an agent and folders of its own, some of them named like ours."""
    pytester.makeini(
        "[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n"
    )
    for name in ("benchmarks", "harness", "scenarios"):
        pytester.mkpydir(name).joinpath("own.py").write_text("OWN = True\n")
    pytester.path.joinpath("agents.py").write_text(SUITES.joinpath("agents.py").read_text())
    pytester.makefile(".yaml", mine="turns: [{ask: list_files}, {say: from a file}]")
    return pytester


def run(suite: pytest.Pytester, kind: str, *options: str) -> pytest.RunResult:
    for file in SUITES.joinpath(kind).glob("*.py"):
        suite.path.joinpath(f"test_{file.name}").write_text(file.read_text())
    options = ("-q", "-p", "no:cacheprovider", "--strict-markers", *options)
    return suite.runpytest_subprocess(*options, timeout=100)


def test_suites_pass_under_four_workers_beside_other_plugins(suite: pytest.Pytester) -> None:
    """Environment, inline scripts, commands, many runs at once, anyio, pytest-asyncio, and a
    repository that has `benchmarks/`, `harness/` and `scenarios/` of its own."""
    run(suite, "passes", "-n", "4").assert_outcomes(passed=32)


def test_what_is_left_over_or_wrong_fails_the_test_by_name_and_shows_the_transcript(
    suite: pytest.Pytester,
) -> None:
    result = run(suite, "fails")
    result.assert_outcomes(failed=17, passed=9, errors=5)
    result.stdout.fnmatch_lines_random(
        [
            "E*turns 1, 2 (of 0 to 2) were never asked for; the last request was for turn 0",
            "E*request 2 (turn 1) was not answered: 400 Script*no turn 1*",
            "E*violation: exchange 1, message 1: *orphan_result*",
            "E*script 'inline': no request came; the agent finds the provider in LLM_BASE_URL,*",
            "E*script 'plan': no request came; the agent finds the provider in LLM_BASE_URL,*",
            "E*script 'plan': no request came; * in run.transport and run.base_url*",
            "*test_marked_without_a_request*",
            "E*fault 'cut' (turn 1) never struck: the reply is not streamed (must_strike=False*",
            "E*fault 'rate_limited' (turn 9) never struck: the turns * asked for are 0 to *",
            "E*fault 'empty_reply' (turns 5-7) never struck: the turns that were asked for are 0 *",
            "script 'plan;*': fault 'count_missing' never struck: nothing asked for a count*",
            "*ERROR at teardown of test_left_open*",
            "run 'test_left_open-*' of script 'inline' was opened and never closed: use `with*",
            "run 'test_left_open-*' of script 'runaway' was opened and never closed: use `with*",
            "run 'test_never_opened-*' of script 'inline' was asked for and never opened: *",
            "*ERROR at teardown of test_examples_left_open*",
            "run 'example-3' *",
            "and 2 more runs",
            "*ERROR at teardown of test_with_a_careless_fixture*",
            "E*2 turns were taken, expected 3",
            "E*'delete_file' was called 0 times, expected at least once; "
            "called were: list_files × 2",
            "script 'inline': turn 1 (of 0 to 1) was never asked for*",
            "E*test_unmarked asks for fake_run and is not marked*",
            ">*run.assert_turns(3)",
            '>*with fake_provider.run([[]"done", ask("list_files"), "never"[]]):',
            "*--- fakeprovider: test_shown-* ---*",
            " turn      in    out  reply",
            "    1 *list_files; heard 'a.txt'",
            "total * 2 requests",
        ]
    )
    # a message is printed once
    result.stdout.no_fnmatch_line("During handling of the above exception*")
    # a failure is where the test is (indented are the lines that Hypothesis offers as explanation)
    result.stdout.no_fnmatch_line("[!E ]*fakeprovider/testing/*.py:*")
    # Hypothesis: of all examples the smallest that fails is shown
    result.stdout.re_match_lines_random([r".*cap=4.*", r"total .* 4 requests"])


def test_the_plugin_can_be_left_out(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_it(fake_provider): pass\ndef test_other(): pass")
    result = run(suite, "none", "-p", "no:fakeprovider")
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["E*fixture 'fake_provider' not found"])


def test_the_plugin_imports_nothing_heavy() -> None:
    """Before a test asks for the provider there is no server, no tokenizer, no YAML, no httpx."""
    code = (
        "import sys, pytest; before = set(sys.modules); import fakeprovider.pytest_plugin\n"
        "heavy = {'uvicorn', 'starlette', 'httpx', 'tiktoken', 'yaml', 'msgspec', 'hypothesis',"
        " 'asyncio', 'fakeprovider.testing', 'fakeprovider.server', 'harness', 'benchmarks'}\n"
        "found = heavy & set(sys.modules) - before\n"
        "sys.exit(', '.join(sorted(found)) or None)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
