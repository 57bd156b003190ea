"""Ralph: fresh runs over files; the plan, a cap, a person or a standstill ends it."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fakeprovider_harness import Cancel, MaxTurns, Price, RunBusy, RunState, Store, Tool, tool
from fakeprovider_harness.models.base import ModelError
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.outer import Caps, OuterKind, OuterReport, PlanFile, Ralph, Setup, ralph
from fakeprovider_harness.outer.report import Shelf
from fakeprovider_harness.verify import Claim, Evaluator, Verdict, broken, failed, passed

CAPS = Caps(iterations=20)
Make = Callable[..., Setup]


def item_of(messages: Any) -> str:
    """The item that the prompt of this run names."""
    prompt = next(m.content for m in messages if m.role == "user")
    return str(prompt.partition("first open item only: ")[2].partition("\n")[0])


def worker(n: int, messages: Any) -> Any:
    """Does the item it is given: a file, a tick, a word."""
    item, turn = item_of(messages), sum(m.role == "assistant" for m in messages)
    if turn == 0:
        return calls((f"w{n}", "write", {"path": f"{item}.txt", "text": item}))
    return calls((f"t{n}", "tick", {"items": [item]})) if turn == 1 else says(f"did {item}")


def go(loop: Ralph, setup: Setup, caps: Caps = CAPS) -> OuterReport:
    return asyncio.run(ralph(loop, setup, caps))


@pytest.mark.parametrize("text", ["", "Fix the dates, then the times.\n"], ids=["empty", "prose"])
def test_a_plan_without_an_item_is_refused_and_one_that_is_ticked_is_empty(
    project: Path, setup: Make, text: str
) -> None:
    model = ScriptedModel([says("never asked")])
    (project / "plan.md").write_text(text)
    with pytest.raises(
        ValueError, match=r"no item was found in .*plan\.md: write a line like “- \[ "
    ):
        go(Ralph(root=project), setup(model))
    (project / "plan.md").write_text("- [x] one\n")
    assert go(Ralph(root=project), setup(model)).stop.kind is OuterKind.PLAN_EMPTY
    assert model.requests == []


def test_each_run_is_fresh_gets_the_top_item_and_the_empty_plan_ends_it(
    project: Path, hands: list[Tool], setup: Make, price: Price
) -> None:
    model = ScriptedModel(worker)
    report = go(Ralph(root=project), setup(model, tools=hands))
    assert (report.stop.kind, report.done, report.verified) == (OuterKind.PLAN_EMPTY, True, False)
    assert [each.task for each in report.iterations] == ["one", "two", "three"]
    assert [each.open for each in report.iterations] == [2, 1, 0]
    firsts = [request for request in model.requests if len(request) == 1]
    assert [item_of(request) for request in firsts] == ["one", "two", "three"]
    assert sorted(path.name for path in project.glob("*.txt")) == [
        "one.txt",
        "three.txt",
        "two.txt",
    ]
    spent = sum((price.cost(usage) for usage in model.charged), Decimal(0))
    assert (report.cost_usd, report.input_tokens) == (spent, 9_000)
    lines = (project / "progress.md").read_text().splitlines()
    assert len(lines) == 3
    assert lines[0] == "- iteration 1: one · answered · 2 open · 3 turns · $0.006"


def test_an_empty_plan_starts_nothing_and_a_missing_one_is_refused_with_what_to_do(
    project: Path, setup: Make
) -> None:
    (project / "plan.md").write_text("- [x] one\n")
    model = ScriptedModel([])
    assert go(Ralph(root=project), setup(model)).stop.kind is OuterKind.PLAN_EMPTY
    (project / "plan.md").unlink()
    with pytest.raises(ValueError, match=r"no plan: write .*plan\.md with a line like"):
        go(Ralph(root=project), setup(model))
    assert model.requests == []


def test_an_item_ticked_while_the_check_fails_is_opened_again_and_a_standstill_ends_it(
    project: Path, hands: list[Tool], setup: Make, said: list[str]
) -> None:
    def liar(n: int, messages: Any) -> Any:
        turn = sum(m.role == "assistant" for m in messages)
        return calls((f"t{n}", "tick", {"items": ["one"]})) if turn == 0 else says("DONE")

    loop = Ralph(root=project, check=lambda claim: failed("2 tests fail", measure=2))
    report = go(loop, setup(ScriptedModel(liar), tools=hands))
    assert (report.stop.kind, report.done) == (OuterKind.NO_PROGRESS, False)
    assert str(report.stop) == "no_progress (3 of 3): 3 items left, first: one"
    assert PlanFile(project / "plan.md").open() == ["one", "two", "three"]
    assert [each.open for each in report.iterations] == [3] * 4, "the first one set the measure"
    assert report.iterations[0].notes == ("check: fail, 2 tests fail", "opened again: one")


def test_fewer_failing_tests_are_progress_though_no_item_is_done(
    project: Path, setup: Make
) -> None:
    left = iter([5, 4, 4, 3, 3, 3, 3])
    loop = Ralph(root=project, check=lambda claim: failed("red", measure=next(left)), rounds=2)
    report = go(loop, setup(ScriptedModel([says("tried")], forever=True)))
    assert report.stop.kind is OuterKind.NO_PROGRESS
    assert len(report.iterations) == 6


def test_only_the_first_item_may_be_ticked(project: Path, hands: list[Tool], setup: Make) -> None:
    def eager(n: int, messages: Any) -> Any:
        turn = sum(m.role == "assistant" for m in messages)
        all_of_them = {"items": ["one", "two", "three"]}
        return calls((f"t{n}", "tick", all_of_them)) if turn == 0 else says("all done")

    report = go(
        Ralph(root=project, check=lambda claim: True), setup(ScriptedModel(eager), tools=hands)
    )
    assert [each.open for each in report.iterations] == [2, 1, 0]
    assert report.iterations[0].notes == ("opened again: two", "opened again: three")
    assert (report.stop.kind, report.verified) == (OuterKind.PLAN_EMPTY, True)


@pytest.mark.parametrize(
    ("caps", "kind"),
    [
        (Caps(iterations=2), OuterKind.MAX_ITERATIONS),
        (Caps(cost="0.011", iterations=99), OuterKind.MAX_COST),
        (Caps(tokens=4_000), OuterKind.MAX_TOKENS),
    ],
)
def test_a_cap_ends_it_and_counts_over_processes(
    project: Path, hands: list[Tool], setup: Make, caps: Caps, kind: OuterKind
) -> None:
    report = go(Ralph(root=project), setup(ScriptedModel(worker), tools=hands), caps)
    assert report.stop.kind is kind
    again = go(Ralph(root=project), setup(ScriptedModel(worker), tools=hands), caps)
    assert (again.stop.kind, again.iterations) == (kind, report.iterations)
    assert kind is not OuterKind.MAX_COST or report.cost_usd <= Decimal("0.011")


def test_the_time_of_work_is_capped(project: Path, setup: Make) -> None:
    made = setup(ScriptedModel([says("x")], forever=True))

    def slow(n: int, messages: Any) -> Any:
        made.clock.advance(40)  # type: ignore[attr-defined]
        return says("x")

    loop = Ralph(root=project, rounds=99)
    report = go(loop, setup(ScriptedModel(slow), clock=made.clock), Caps(seconds=100))
    assert (report.stop.kind, len(report.iterations)) == (OuterKind.MAX_SECONDS, 3)


def test_runs_that_fail_for_nothing_end_it_after_three_though_no_budget_is_used(
    project: Path, setup: Make
) -> None:
    model = ScriptedModel([ModelError("503: overloaded", status=503, retryable=True)], forever=True)
    report = go(Ralph(root=project), setup(model), Caps(cost="5.00"))
    assert str(report.stop) == "failures (3 of 3): provider_unavailable"
    assert (report.cost_usd, len(model.requests)) == (0, 3)
    again = go(Ralph(root=project), setup(ScriptedModel([says("ok")], forever=True)))
    assert again.stop.kind is OuterKind.NO_PROGRESS, "somebody started it again: it tries again"


def test_an_error_that_needs_a_person_ends_it_at_once_and_once_it_is_mended_it_goes_on(
    project: Path, hands: list[Tool], setup: Make, tmp_path: Path
) -> None:
    model = ScriptedModel([ModelError("401: no such key", status=401)])
    with Store(tmp_path / "runs.sqlite") as store:
        report = go(Ralph(root=project), setup(model, store=store))
        assert str(report.stop) == "needs_person: 401: no such key"
        assert len(model.requests) == 1
        report = go(Ralph(root=project), setup(ScriptedModel(worker), tools=hands, store=store))
    assert report.stop.kind is OuterKind.PLAN_EMPTY
    assert [each.task for each in report.iterations] == ["one", "one", "two", "three"]


def test_a_check_that_cannot_be_made_blames_nobody_and_ends_it(
    project: Path, hands: list[Tool], setup: Make
) -> None:
    asked: list[Claim] = []

    def check(claim: Claim) -> Verdict:
        asked.append(claim)
        return broken("no such host")

    loop = Ralph(root=project, check=check)
    report = go(loop, setup(ScriptedModel(worker), tools=hands))
    assert str(report.stop) == "needs_person: the check cannot be made: no such host"
    assert (len(asked), PlanFile(project / "plan.md").done()) == (2, ["one"])
    rest = go(
        Ralph(root=project, check=lambda claim: True), setup(ScriptedModel(worker), tools=hands)
    )
    assert (rest.stop.kind, rest.verified) == (OuterKind.PLAN_EMPTY, True)


def test_an_approval_that_nobody_can_give_ends_it_and_the_run_goes_on_once_it_is_given(
    project: Path, setup: Make, tmp_path: Path
) -> None:
    done = []

    @tool(needs_approval=True)
    def push(x: int) -> str:
        """Push."""
        done.append(x)
        (project / "plan.md").write_text("- [x] one\n")
        return "pushed"

    script = [calls(("a", "push", {"x": 1})), says("done")]
    model = ScriptedModel(script)
    with Store(tmp_path / "runs.sqlite") as store:
        made = setup(model, tools=[push], store=store)
        report = go(Ralph(root=project), made)
        assert (report.stop.kind, done) == (OuterKind.NEEDS_PERSON, [])
        assert report.iterations[-1].turns == 1, "what it has used so far is in the report"

        def decide(state: RunState) -> bool:
            from fakeprovider_harness import approve

            for wait in state.interruptions:
                approve(state, wait.call_id)
            return True

        again = setup(model, tools=[push], store=store, decide=decide)
        report = go(Ralph(root=project), again)
    assert (report.stop.kind, done, len(model.requests)) == (OuterKind.PLAN_EMPTY, [1], 2)
    assert [each.number for each in report.iterations] == [1]


def test_a_person_ends_it_by_the_signal_or_by_a_file_and_the_run_goes_on_later(
    project: Path, hands: list[Tool], setup: Make, tmp_path: Path
) -> None:
    signal = Cancel()

    def pressing(n: int, messages: Any) -> Any:
        if n == 1:
            signal.set("user pressed Stop")
        return worker(n, messages)

    with Store(tmp_path / "runs.sqlite") as store:
        model = ScriptedModel(pressing)
        report = go(Ralph(root=project), setup(model, tools=hands, cancel=signal, store=store))
        assert str(report.stop) == "user: user pressed Stop"
        assert (report.iterations[0].turns, report.cost_usd) == (2, Decimal("0.004"))
        (project / ".ralph" / "stop").touch()
        stopped = go(Ralph(root=project), setup(ScriptedModel([]), tools=hands, store=store))
        assert stopped.stop.kind is OuterKind.USER
        (project / ".ralph" / "stop").unlink()
        rest = ScriptedModel(worker)
        report = go(Ralph(root=project), setup(rest, tools=hands, store=store))
    assert report.stop.kind is OuterKind.PLAN_EMPTY
    assert [each.task for each in report.iterations] == ["one", "one", "two", "three"]
    assert len(rest.requests) == 1 + 9, "the first run went on; its tick had not been made"


def test_two_loops_do_not_share_a_directory_and_two_directories_share_nothing(
    project: Path, setup: Make, tmp_path: Path
) -> None:
    with (
        Shelf(project / ".ralph").claim(),
        pytest.raises(RunBusy, match="another loop is at work"),
    ):
        go(Ralph(root=project), setup(ScriptedModel([])))
    with Shelf(tmp_path / "a").claim() as one, Shelf(tmp_path / "b").claim() as other:
        assert one.id != other.id


def test_a_prompt_may_hold_braces_and_what_a_check_asks_a_model_is_in_the_total(
    project: Path, hands: list[Tool], setup: Make, price: Price
) -> None:
    judge = ScriptedModel([says('{"verdict": "met", "reason": "r"}')], forever=True)
    loop = Ralph(
        root=project,
        prompt='Reply as {"json": 1}. first open item only: {item}\n',
        check=Evaluator(judge, "works", price=price),
    )
    model = ScriptedModel(worker)
    report = go(loop, setup(model, tools=hands))
    assert (model.requests[0][0].content or "").startswith('Reply as {"json": 1}.')
    assert (report.stop.kind, report.verified) == (OuterKind.PLAN_EMPTY, True)
    both = [*model.charged, *judge.charged]
    assert report.cost_usd == sum((price.cost(usage) for usage in both), Decimal(0))


def test_each_iteration_is_committed_if_asked_and_the_book_is_not(
    project: Path, hands: list[Tool], setup: Make, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    home = project.parent / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n  name = Ralph\n  email = r@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    go(Ralph(root=project, commit=True), setup(ScriptedModel(worker), tools=hands))
    log = subprocess.check_output(["git", "log", "--format=%s", "--stat"], cwd=project, text=True)
    assert [line for line in log.splitlines() if line.startswith("Iteration")] == [
        "Iteration 3: three",
        "Iteration 2: two",
        "Iteration 1: one",
    ]
    assert "book.json" not in log
    assert not [words for words in said if words.startswith("git:")]


def test_a_run_that_is_gone_with_its_process_is_done_again_and_flagged(
    project: Path, hands: list[Tool], setup: Make
) -> None:
    class Killed(BaseException):
        pass

    def dying(n: int, messages: Any) -> Any:
        raise Killed

    with pytest.raises(Killed):
        go(Ralph(root=project), setup(ScriptedModel(dying), tools=hands))
    report = go(Ralph(root=project), setup(ScriptedModel(worker), tools=hands))
    assert [(each.number, each.lost) for each in report.iterations] == [
        (1, True),
        (2, False),
        (3, False),
    ]
    assert report.iterations[0].run_id.endswith("-1.1")


def test_a_tick_made_before_a_kill_is_still_judged_by_the_check_after_it(
    project: Path, hands: list[Tool], setup: Make, tmp_path: Path
) -> None:
    def half(n: int, messages: Any) -> Any:
        return calls((f"t{n}", "tick", {"items": ["one"]})) if n == 0 else says("done")

    with Store(tmp_path / "runs.sqlite") as store:
        made = setup(ScriptedModel(half), tools=hands, store=store, stop=MaxTurns(1))
        failing = Ralph(root=project, check=lambda claim: broken("killed here"))
        go(failing, made)
        (project / "plan.md").write_text("- [x] one\n- [ ] two\n")
        loop = Ralph(root=project, check=lambda claim: failed("red"), rounds=1)
        report = go(loop, setup(ScriptedModel([says("x")], forever=True), store=store))
    assert PlanFile(project / "plan.md").open() == ["one", "two"]
    assert "opened again: one" in report.iterations[0].notes


def test_a_pass_without_a_measure_is_no_progress_by_itself(project: Path, setup: Make) -> None:
    loop = Ralph(root=project, check=lambda claim: passed(), rounds=2)
    report = go(loop, setup(ScriptedModel([says("nothing to do")], forever=True)))
    assert (report.stop.kind, len(report.iterations)) == (OuterKind.NO_PROGRESS, 2)


def test_killed_between_the_progress_line_and_the_book_it_is_written_once(
    project: Path, hands: list[Tool], setup: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    saved: list[int] = []
    save = Shelf.save

    def dying(shelf: Shelf, book: Any) -> None:
        saved.append(len(book.iterations))
        if saved[-1] == 1:  # the first iteration is about to be put into the book
            raise Killed
        save(shelf, book)

    with Store(tmp_path / "runs.sqlite") as store:
        monkeypatch.setattr(Shelf, "save", dying)
        with pytest.raises(Killed):
            go(Ralph(root=project), setup(ScriptedModel(worker), tools=hands, store=store))
        monkeypatch.setattr(Shelf, "save", save)
        report = go(Ralph(root=project), setup(ScriptedModel(worker), tools=hands, store=store))
    assert [each.task for each in report.iterations] == ["one", "two", "three"]
    lines = (project / "progress.md").read_text().splitlines()
    assert [line.split(":")[0] for line in lines] == [f"- iteration {n}" for n in (1, 2, 3)]
