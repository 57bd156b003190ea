"""A feature file is a plan and a measure that only the checks can change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakeprovider_harness.verify import Feature, Features

PLAN = [
    {"id": "parse", "description": "parses a line", "steps": ["feed it a line"], "passes": False},
    {"id": "print", "description": "prints a table", "passes": False},
]


def write(path: Path, entries: Any) -> None:
    path.write_text(json.dumps(entries))


@pytest.fixture
def features(tmp_path: Path) -> tuple[Features, Path, set[str]]:
    path, works = tmp_path / "features.json", set[str]()
    write(path, PLAN)
    return Features(path, tmp_path / "kept.json", lambda f: f.id in works), path, works


Given = tuple[Features, Path, set[str]]


def test_only_a_check_flips_passes_and_what_is_open_is_the_measure(
    features: Given, judge: Callable[..., Any]
) -> None:
    plan, path, works = features
    verdict = judge(plan)
    assert (verdict.kind, verdict.evidence["measure"]) == ("fail", 2)
    assert verdict.feedback == "2 open, first: parses a line"
    works.add("parse")
    assert judge(plan).evidence["measure"] == 1
    assert [entry["passes"] for entry in json.loads(path.read_text())] == [True, False]
    assert [feature.id for feature in plan.open()] == ["print"]
    works.add("print")
    assert judge(plan).kind == "pass"
    works.discard("parse")
    assert judge(plan).evidence["measure"] == 1, "what stops working is open again"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: e[0].update(passes=True), "parse was flipped"),
        (lambda e: e.pop(1), "print was removed"),
        (lambda e: e[1].update(description="prints"), "print was edited"),
        (lambda e: e[0].update(steps=[]), "parse was edited"),
        (lambda e: e.append({"id": "easy", "description": "x", "passes": True}), "easy was added"),
        (lambda e: e[0].update(note="x"), "cannot be read"),
    ],
)
def test_an_entry_that_the_run_touched_is_a_violation_and_the_file_is_restored(
    features: Given, judge: Callable[..., Any], change: Callable[[Any], Any], words: str
) -> None:
    plan, path, works = features
    works.update({"parse", "print"})
    entries = json.loads(json.dumps(PLAN))
    change(entries)
    write(path, entries)
    verdict = judge(plan)
    assert (verdict.kind, words in verdict.feedback) == ("fail", True), verdict.feedback
    assert [entry["id"] for entry in json.loads(path.read_text())] == ["parse", "print"]
    assert judge(plan).kind == "pass", "the next claim is judged by the checks again"


def test_a_later_process_goes_by_what_the_checks_have_said(features: Given, tmp_path: Path) -> None:
    plan, path, works = features
    works.add("parse")
    plan.verify()
    path.unlink()
    again = Features(path, tmp_path / "kept.json", lambda f: False)
    assert [feature.id for feature in again.open()] == ["print"]
    assert again.all()[0] == Feature("parse", "parses a line", ("feed it a line",), True)


@pytest.mark.parametrize(
    "entries", [[PLAN[0], PLAN[0]], [{**PLAN[0], "passes": True}], {"id": "x"}, [{"id": "x"}]]
)
def test_a_file_that_is_no_fresh_plan_is_refused(tmp_path: Path, entries: Any) -> None:
    write(tmp_path / "f.json", entries)
    with pytest.raises(ValueError, match=r"f\.json"):
        Features(tmp_path / "f.json", tmp_path / "kept.json", lambda f: True)
