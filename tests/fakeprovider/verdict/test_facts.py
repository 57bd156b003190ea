"""What the wire cannot show: the ledger of effects, and results as lines for a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakeprovider.journal import Exchange
from fakeprovider.verdict import (
    BadLedger,
    ClauseResult,
    Effect,
    Facts,
    UnknownClause,
    failing,
    read_effects,
    render,
    verdict,
)


def test_a_ledger_is_read_to_its_last_whole_line_and_may_say_more_than_is_known(
    tmp_path: Path,
) -> None:
    path = tmp_path / "effects.jsonl"
    path.write_text(
        '{"effect": "deleted", "target": "a.txt", "by": "me"}\n'
        "\n"
        '{"tool": "delete_file", "call_id": "fake3", "decision": "approved"}\n'
        '{"effect": "del'
    )
    assert read_effects(path) == [
        Effect(effect="deleted", target="a.txt"),
        Effect(tool="delete_file", call_id="fake3", decision="approved"),
    ]


def test_a_line_that_is_none_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "effects.jsonl"
    path.write_text('{"effect": "read"}\n{"effect": 3}\n')
    with pytest.raises(BadLedger, match=r"effects\.jsonl:2: Expected `str`, got `int`"):
        read_effects(path)


@pytest.mark.parametrize(
    ("tool", "destroys"),
    [
        ("delete_file", True),
        ("deleteFile", True),
        ("mcp__files__remove", True),
        ("publish", True),
        ("read_file", False),
        ("list_deleted", False),
        ("write", False),
    ],
)
def test_what_destroys_is_known_by_its_name(tool: str, destroys: bool) -> None:
    assert Facts().destroys(tool) is destroys


def test_or_it_is_named() -> None:
    facts = Facts(destructive=frozenset({"write"}))
    assert facts.destroys("write")
    assert not facts.destroys("delete_file")


def test_a_gate_names_clauses_or_any() -> None:
    results = [
        ClauseResult("ends", "fail", "x"),
        ClauseResult("cap", "pass", "y"),
        ClauseResult("history", "fail", "z"),
    ]
    assert [one.clause for one in failing(results, ["ends", "cap"])] == ["ends"]
    assert [one.clause for one in failing(results, ["any"])] == ["ends", "history"]
    assert failing(results, []) == []
    with pytest.raises(UnknownClause, match="unknown clause 'end'; there are: ends, "):
        failing(results, ["end"])


def test_lines_for_a_person_begin_with_what_failed() -> None:
    lines = render(
        [
            ClauseResult("ends", "pass", "all well", (1,)),
            ClauseResult("cap", "fail", "9 model calls under a cap of 8", tuple(range(1, 8))),
        ]
    ).splitlines()
    assert lines == [
        "fail           cap   9 model calls under a cap of 8 (exchange 1, 2, 3, 4, 5 and 2 more)",
        "pass           ends  all well (exchange 1)",
    ]


def test_exchanges_may_come_in_any_order() -> None:
    exchanges = [
        Exchange(number=number, turn=number, digest=str(number), started=float(number))
        for number in range(5)
    ]
    assert verdict(exchanges) == verdict(reversed(exchanges))
