import httpx
import pytest
from agents import agent
from agents import ask as send

from fakeprovider import ask


def test_unused_turn(fake_provider):
    with fake_provider.run(["done", ask("list_files"), "never"]):
        agent()


def test_unanswered(fake_provider):
    with fake_provider.run([ask("list_files")]), pytest.raises(httpx.HTTPStatusError):
        agent()


def test_violation(fake_provider):
    with fake_provider.run("runaway", strict=False) as run:
        orphan = {"role": "tool", "tool_call_id": "nobody", "content": "x"}
        with httpx.Client(timeout=60) as client:
            send(client, run.base_url, [{"role": "user", "content": "x"}, orphan])


def test_no_request(fake_provider):
    with fake_provider.run(["done"]):
        pass


def test_no_request_of_a_named_script(fake_provider):
    with fake_provider.run("plan"):
        pass


def test_no_request_in_process(fake_provider):
    with fake_provider.run("plan", in_process=True):
        pass


def test_turns(fake_provider):
    with fake_provider.run("runaway") as run:
        agent(cap=2)
        run.assert_turns(3)


def test_called(fake_provider):
    with fake_provider.run("runaway") as run:
        agent(cap=2)
        run.assert_called("delete_file")


def test_unchecked(fake_provider):
    with fake_provider.run(["done", "never"], check=False):
        agent()
    with fake_provider.run("plan", check=False):
        pass
