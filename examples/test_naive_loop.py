"""What the loop of ten lines does to a contract: copy this file to see what yours does."""

import httpx
import naive_loop
import pytest

from fakeprovider import ask
from fakeprovider.contract import ContractBroken, Limits, check_stop_contract


def adapter(base_url: str, limits: Limits) -> None:
    """The loop under the contract: it knows no limits, so they are of no use to it."""
    tools = {
        tool.name: (
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
            tool.run,
        )
        for tool in limits.tools
    }
    client = httpx.Client(transport=limits.transport)
    naive_loop.run(limits.task, tools, base_url, client)


def test_it_answers_where_the_model_answers(fake_provider):
    tools = {"list_files": ({"name": "list_files", "parameters": {"type": "object"}}, lambda: "a")}
    with fake_provider.run([ask("list_files"), "a mentions it."]) as run:
        assert naive_loop.run("Which file?", tools) == "a mentions it."
        run.assert_called("list_files", times=1)


def test_which_clauses_it_fails():
    """It never ends, keeps no cap, asks the same for ever, and runs what was cut off."""
    with pytest.raises(ContractBroken) as broken:
        check_stop_contract(adapter, in_process=True)
    assert set(broken.value.clauses) == {"ends", "cap", "identical_calls", "truncated_executed"}
