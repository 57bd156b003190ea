"""The registry: every fault is described, has a test of its bytes, and says what it cannot take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from fakeprovider import pacing, strategies
from fakeprovider.cli import main
from fakeprovider.delivery.steps import Step
from fakeprovider.faults import FAULTS, BadFault, Kind, plan, registry
from fakeprovider.faults.kind import Scene
from fakeprovider.faults.registry import PAGE, fault, find, row
from fakeprovider.faults.selection import chaos_faults
from fakeprovider.protocols import DIALECTS
from fakeprovider.registry import Registry
from fakeprovider.serving import path_options

SOURCE = re.compile(r"https://\S+|[\w.-]+/[\w.-]+#\d+")


@pytest.mark.parametrize("kind", FAULTS.values(), ids=FAULTS)
def test_every_fault_says_what_happens_and_where_it_was_seen(kind: Kind) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", kind.name)
    assert kind.line.endswith(".")
    assert len(kind.line) <= 90
    assert all(SOURCE.fullmatch(one) for one in re.split(r"[,;] ", kind.source)), kind.source
    assert kind.dialects
    hooks = (kind.error, kind.reply, kind.whole, kind.stream, kind.steps, kind.count)
    assert any(hook is not None for hook in hooks)


@pytest.mark.parametrize("kind", FAULTS.values(), ids=FAULTS)
def test_parameters_have_defaults_that_they_accept_and_names_that_nothing_else_has(
    kind: Kind,
) -> None:
    taken = {"fault", "turn", "times", *path_options.OPTIONS}
    for param in kind.params:
        assert param.read(param.default) == param.default
        assert param.read(str(param.default)) == param.default
        assert param.name not in taken


def lacking(registered: Mapping[str, Kind]) -> list[str]:
    """What the faults lack of what each must have: a row on the page, a test, a strategy."""
    page = (Path(__file__).parents[3] / PAGE).read_text()
    modules = set(Path(__file__).parent.glob("test_*.py")) - {Path(__file__)}
    tests = "".join(module.read_text() for module in modules)
    drawn = {kind.name for dialect in DIALECTS for kind in strategies._kinds(dialect, (), True)}
    lacks = []
    for name, kind in registered.items():
        if row(kind) not in page:
            lacks.append(f"{name}: its row in {PAGE}")
        if not re.search(rf"\b{name}\b", tests):
            lacks.append(f"{name}: a test of its bytes")
        if name not in drawn and kind.count is None:
            lacks.append(f"{name}: a strategy")
    return lacks


def test_every_fault_has_its_row_its_test_and_its_strategy() -> None:
    assert lacking(FAULTS) == []


def test_a_new_fault_is_told_by_name_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy of the registry; once it is registered, the strategies draw it by themselves."""
    copy: Registry[Kind] = Registry("fault")
    for name, kind in FAULTS.items():
        copy.add(name, kind)
    monkeypatch.setattr(registry, "FAULTS", copy)

    @fault("nothing_sent", hook="steps", group="stream", line="Nothing.", source="a/b#1")
    def nothing(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
        return iter(())

    assert find("nothing_sent").steps is nothing
    row_and_test = ["nothing_sent: its row in docs/faults.md", "nothing_sent: a test of its bytes"]
    assert lacking(copy) == [*row_and_test, "nothing_sent: a strategy"]
    monkeypatch.setattr(strategies, "FAULTS", copy)
    assert lacking(copy) == row_and_test
    assert "nothing_sent" in registry.listing()
    assert "nothing_sent" not in FAULTS


def test_an_unknown_fault_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(BadFault, match="unknown fault 'rate_limit'; did you mean 'rate_limited'"):
        find("rate_limit")


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("cut", {"afer": 3}, "fault 'cut' has no parameter 'afer'; it has: after, how"),
        ("cut", {"after": "x"}, "after='x': must be a whole number"),
        ("cut", {"after": -1}, r"after=-1: must be 0 to 1,000,000,000"),
        ("cut", {"how": "gently"}, "how='gently': must be one of eof, close, reset"),
        ("stall", {"seconds": "nan"}, "seconds='nan': must be 0 to 86,400"),
        ("rate_limited", {"times": 0}, "times=0: must be a whole number, 1 or more"),
        ("rate_limited", {"turn": "1-"[::-1]}, "turn='-1': must be a turn from 0 on, or a range"),
        ("reset", {"at": 1}, "fault 'reset' has no parameter 'at'; it has: none"),
        ("unknown_tool", {"tool": True}, "tool=True: must be a text"),
    ],
)
def test_a_wrong_parameter_is_refused_with_what_is_right(
    name: str, given: dict[str, object], told: str
) -> None:
    with pytest.raises(BadFault, match=re.escape(told)):
        plan(name, given)


@pytest.mark.parametrize(
    ("told", "yes", "no"),
    [
        (None, (0, 7), ()),
        (3, (3,), (2, 4)),
        ("3", (3,), (2, 4)),
        ("2-4", (2, 4), (1, 5)),
        ("2-", (2, 99), (0, 1)),
    ],
)
def test_a_fault_strikes_on_a_turn_or_a_range_of_them(
    told: object, yes: tuple[int, ...], no: tuple[int, ...]
) -> None:
    ordered = plan("reset", {"turn": told})
    assert all(ordered.strikes(turn, 0) for turn in yes)
    assert not any(ordered.strikes(turn, 0) for turn in no)


def test_a_fault_strikes_the_first_attempts() -> None:
    ordered = plan("reset", {"times": 2})
    assert [ordered.strikes(5, attempt) for attempt in range(4)] == [True, True, False, False]


def test_chaos_draws_from_faults_of_both_forms() -> None:
    assert len(chaos_faults()) >= 8
    assert any("whole" in FAULTS[name].forms for name in chaos_faults())
    assert all(FAULTS[name].breaks for name in chaos_faults())


def test_the_command_lists_them_all_and_as_json() -> None:
    listed = CliRunner().invoke(main, ["faults"]).output
    assert all(f"  {name} " in listed for name in FAULTS)
    found = json.loads(CliRunner().invoke(main, ["faults", "--json"]).output)["faults"]
    assert [one["name"] for one in found] == list(FAULTS)
    assert all(one["line"] and one["source"] and one["applied"] for one in found)


def test_the_command_describes_one_or_says_what_there_is() -> None:
    shown = CliRunner().invoke(main, ["faults", "cut"]).output
    assert "after=3: tokens that are sent before" in shown
    wrong = CliRunner().invoke(main, ["faults", "cutt"])
    assert wrong.exit_code == 1
    assert "did you mean 'cut'" in wrong.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--fault", "nope"], "unknown fault 'nope'"),
        (["--fault", "cut,after"], "'after' must be PARAM=VALUE"),
        (["--fault", "cut,after=x"], "after='x': must be a whole number"),
        (["--chaos", "2"], "2.0 is not in the range 0<=x<=1"),
        (["--pace", "warp"], "'warp' is not one of"),
    ],
)
def test_the_server_refuses_options_that_make_no_sense(arguments: list[str], told: str) -> None:
    found = CliRunner().invoke(main, ["serve", *arguments])
    assert found.exit_code == 2
    assert told in found.output


def test_no_name_of_a_pace_is_a_fault() -> None:
    assert not set(pacing.PROFILES) & set(FAULTS)
