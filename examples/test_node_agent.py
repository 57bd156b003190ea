"""An agent in another language, as a command: it is told where to go by its environment."""

import shutil
from pathlib import Path

import pytest

from fakeprovider import ask
from fakeprovider.contract import check_stop_contract

NODE = shutil.which("node")
AGENT = [NODE or "node", str(Path(__file__).with_name("node_agent.mjs"))]
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node")


def test_it_answers(fake_provider):
    script = [ask("read_note", {"name": "n1"}), "n1 does."]
    drove = fake_provider.drive(AGENT, script)
    assert (drove.status, drove.output.strip()) == (0, "n1 does.")
    drove.run.assert_called("read_note", times=1)


def test_it_stops_at_its_cap(fake_provider):
    drove = fake_provider.drive(AGENT, "runaway", tools={"list_files": "read_note"})
    assert (drove.status, drove.stopped) == (3, False)


def test_it_keeps_the_contract():
    """Each example is a process: a few will do."""
    wanted = ["ends", "cap", "after_answer", "pairing", "history", "identical_calls", "hopeless"]
    results = check_stop_contract(AGENT, clauses=wanted, examples=2)
    assert {one.result for one in results} == {"pass"}
