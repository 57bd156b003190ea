"""The contract held against the loop of sixty lines. Copy it, and put your loop in `adapter`."""

import contextlib

import decent_loop
import httpx
import pytest
from hypothesis import HealthCheck, given, settings

from fakeprovider import ask
from fakeprovider.contract import Limits, Report, check_stop_contract
from fakeprovider.strategies import scripts

TOOLS = {
    "list_files": ({"name": "list_files", "parameters": {"type": "object"}}, lambda: "a.txt", False)
}


def adapter(base_url: str, limits: Limits) -> Report:
    tools = {
        tool.name: (
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
            tool.run,
            tool.needs_approval,
        )
        for tool in limits.tools
    }
    promised = Report(budget=True, approvals=True)
    try:
        decent_loop.run(
            limits.task,
            tools,
            base_url,
            turns=limits.turns or 100,
            tokens=limits.tokens,
            client=httpx.Client(transport=limits.transport),
            approve=limits.decide,
        )
    except decent_loop.Stopped:
        return promised
    return promised


def test_it_keeps_the_contract():
    results = {one.clause: one.result for one in check_stop_contract(adapter, in_process=True)}
    assert {name for name, result in results.items() if result == "not observable"} == {
        "shared_budget",  # it has no sub-agents
        "resume_cap",  # and is not resumed
        "resume_effects",
        "cancel",
        "reported",
    }


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(script=scripts())
def test_it_stops_whatever_the_model_does(fake_provider, script):
    """In process: there is no socket, so that there can be many examples."""
    with fake_provider.run(script, in_process=True, check=False) as run:
        client = httpx.Client(transport=run.transport)
        with contextlib.suppress(decent_loop.Stopped):
            decent_loop.run("Look.", TOOLS, run.base_url, turns=6, client=client)
        assert len(run.requests) <= 6
        run.assert_no_violations()


@pytest.mark.fake_provider([ask("list_files"), "a.txt mentions it."])
def test_it_answers(fake_run):
    """Over a socket, as in CI: the loop finds LLM_BASE_URL in its environment."""
    answer, turns, tokens = decent_loop.run("Which file?", TOOLS, fake_run.base_url, turns=5)
    assert (answer, turns) == ("a.txt mentions it.", 2)
    assert tokens == fake_run.usage.prompt_tokens + fake_run.usage.completion_tokens
