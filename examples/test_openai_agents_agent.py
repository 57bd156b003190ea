"""openai-agents under the contract: what holds, and what does not."""

import pytest

from fakeprovider import ask
from fakeprovider.contract import ContractBroken, Limits, check_stop_contract

pytest.importorskip("agents")

import httpx
import openai_agents_agent

BREAKS = {"identical_calls", "truncated_executed"}


def offered(limits: Limits):
    return {
        tool.name: (
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            tool.run,
        )
        for tool in limits.tools
    }


def adapter(base_url: str, limits: Limits) -> None:
    client = httpx.AsyncClient(transport=limits.transport)
    turns = limits.turns or 50
    tools = offered(limits)
    openai_agents_agent.run(limits.task, tools, base_url, turns=turns, http_client=client)


@pytest.mark.fake_provider([ask("look"), "There is one."])
def test_it_answers(fake_run):
    schema = {"name": "look", "parameters": {"type": "object", "properties": {}}}
    tools = {"look": (schema, lambda: "a note")}
    url = fake_run.base_url
    assert openai_agents_agent.run("Look.", tools, url, turns=3) == "There is one."
    fake_run.assert_turns(2)


def test_what_it_breaks():
    with pytest.raises(ContractBroken) as broken:
        check_stop_contract(adapter, in_process=True, examples=3)
    assert set(broken.value.clauses) == BREAKS
