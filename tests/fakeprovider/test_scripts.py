"""Finding scripts: built in, by entry point, by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from fakeprovider.conversation import Conversation, Message
from fakeprovider.replies import say
from fakeprovider.scripts import Registry, UnknownScript, describe, discover
from fakeprovider.scripts.reply_sequence import ScriptRanOut

CLASSICS = {
    "plan", "runaway", "recover", "denied", "destructive", "duplicate", "duplicate-baseline",
    "duplicate-write", "slow", "long", "publish",
}  # fmt: skip


def at(turn: int, *results: str) -> Conversation:
    """A conversation at a turn, whose last results say so and so."""
    answer = Message("assistant", "")
    answered = [Message("tool", text, call_id="a", tool="publish") for text in results]
    return Conversation("m", (Message("user", "go"), answer, *answered), turn=turn)


def test_the_classics_are_there_and_described() -> None:
    """Each with a sentence for the list."""
    scripts = discover()
    assert set(scripts) >= CLASSICS
    assert all(describe(scripts[name]).endswith(".") for name in CLASSICS)


def test_an_entry_point_adds_a_script_and_is_loaded_when_asked_for() -> None:
    """Another package's script; one that cannot be imported hurts only who asks for it."""
    good = EntryPoint("other", "fakeprovider.scripts.steady:plan", "fakeprovider.scripts")
    broken = EntryPoint("broken", "no_such_package:x", "fakeprovider.scripts")
    registry = Registry({"own": lambda _: say("x")}, [good, broken])
    assert list(registry) == ["broken", "other", "own"]
    assert describe(registry["other"]) == "Lists the files, reads errors.log, answers."
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        registry["broken"]
    assert "other" in registry
    assert len(registry) == 3


def test_what_is_given_comes_before_what_is_installed() -> None:
    """A script of the same name replaces one, for this server."""
    own = discover({"plan": lambda _: say("mine")})
    assert own["plan"](at(0)).text == "mine"


def test_an_unknown_name_lists_those_there_are() -> None:
    """Also through `get`, which does not hide it."""
    with pytest.raises(UnknownScript) as caught:
        discover()["plam"]
    assert str(caught.value).startswith("no script named 'plam'; there are: ")
    assert discover().get("plam") is None


@pytest.mark.parametrize("name", sorted(CLASSICS - {"runaway", "denied"}))
def test_a_script_that_has_ended_says_so(name: str) -> None:
    """Naming the turn and the last message."""
    with pytest.raises(ScriptRanOut, match=r"has no turn 77 .* role 'tool': 'x{80}\.\.\.'"):
        discover()[name](at(77, "x" * 200))


def test_publish_asks_twice_and_heeds_a_refusal() -> None:
    """Twice for the same effect; "declined" in a result ends it in words."""
    publish = discover()["publish"]
    first, second = publish(at(0)), publish(at(1, "Published notes.txt."))
    assert first == second
    assert first.calls[0].arguments == '{"path":"notes.txt"}'
    assert publish(at(2, "Published notes.txt.")).text == "notes.txt is published."
    for turn in (1, 2):
        assert "you declined" in publish(at(turn, "The user declined.")).text
