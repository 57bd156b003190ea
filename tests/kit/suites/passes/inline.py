from pathlib import Path

import pytest
from agents import agent

from fakeprovider import ask, say
from fakeprovider.yamlscripts import BadScripts


def late(conversation):
    return say("late") if conversation.turn == 3 else ask("list_files")


YAML = """
turns:
  - ask: list_files
  - say: from yaml
"""


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ([ask("list_files"), "from replies"], "from replies"),
        (say("one"), "one"),
        (late, "late"),
        (YAML, "from yaml"),
        (Path("mine.yaml"), "from a file"),
        ("mine.yaml", "from a file"),
    ],
)
def test_it(fake_provider, script, answer):
    with fake_provider.run(script):
        assert agent() == answer


def test_bad_yaml(fake_provider):
    with pytest.raises(BadScripts, match="trns"):
        fake_provider.run("trns:\n  - say: x")
