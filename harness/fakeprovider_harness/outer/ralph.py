"""Ralph: the same prompt to a fresh run each time; what is known stands in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import msgspec

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.conditions.predicate import has_marker
from fakeprovider_harness.models.base import (
    Message,
    Model,
    ModelCancelled,
    ModelError,
    ModelReply,
    Usage,
)
from fakeprovider_harness.outer.caps import Caps, hit
from fakeprovider_harness.outer.plan_file import PlanFile
from fakeprovider_harness.outer.report import (
    Book,
    Iteration,
    OuterKind,
    OuterReport,
    OuterStop,
    Shelf,
    Spent,
    used,
)
from fakeprovider_harness.outer.setup import Setup, failed, needs_person
from fakeprovider_harness.state import RunState
from fakeprovider_harness.tooling.process import run_process
from fakeprovider_harness.verify.verifier import Claim, Verdict, Verifier, asked


class Beside:
    """Asks for a check, and adds up what that costs: tokens, and USD."""

    def __init__(self, cancel: Cancel) -> None:
        self._cancel = cancel
        self.input_tokens = self.output_tokens = self.unpriced = 0
        self.cost_usd = Decimal(0)

    async def ask(
        self, prompt: Sequence[Message], model: Model, price: Pricing, max_output: int | None
    ) -> ModelReply | None:
        """One request; None where no reply came."""
        reply: ModelReply | None = None
        try:
            reply = await model.ask(prompt, (), max_output=max_output, cancel=self._cancel)
            spent = [*(attempt.partial for attempt in reply.attempts), reply]
        except (ModelError, ModelCancelled) as error:
            spent = [*(attempt.partial for attempt in error.attempts), error.partial]
        for part in spent:
            if part is not None:
                usage = part.usage or charging.estimated(part, charging.bytes_of_all(prompt))
                self.charge(usage, charging.cost_of(price, part.model or model.name, usage))
        return reply

    def charge(self, usage: Usage, cost_usd: Decimal | None) -> None:
        """Add one request."""
        self.input_tokens += usage.prompt_tokens
        self.output_tokens += usage.completion_tokens
        if cost_usd is None:
            self.unpriced += 1
        else:
            self.cost_usd += cost_usd


PROMPT = (
    "Read specs/ for what is wanted, {plan} for what is left and {progress} for what was done. "
    "Work on the first open item only: {item}\n"
    "Run the tests after each change. When the item is done, tick it in {plan} (- [x]) and stop. "
    "If it cannot be done, write why beneath it and stop."
)
ENDING = "\nWhen nothing at all is left to do, say <promise>{marker}</promise>."


@dataclass(frozen=True, kw_only=True)
class Ralph:
    """A project directory that a fresh run works on, item by item, until its plan is empty.

    In `root`: the `plan` file, sorted by priority, that the agent updates; `specs/`; `progress`, to
    which a line is appended per iteration. `check` judges the project after each iteration: an item
    that was ticked while it does not pass is opened again, and so is any but the first. `marker` is
    a word that the agent may end the loop with, on a line of its own or in a tag; it counts only
    while the check passes. `rounds` iterations without fewer items or failing tests end the loop,
    so do `failures` runs in a row that failed. `commit` has git record each iteration. `keep` is
    where the loop's own book is (default: `.ralph` in `root`); a file called `stop` there ends it.
    """

    root: Path
    prompt: str = PROMPT
    system: str | None = None
    plan: str = "plan.md"
    progress: str = "progress.md"
    check: Verifier | None = None
    marker: str | None = None
    rounds: int = 3
    failures: int = 3
    commit: bool = False
    keep: Path | None = None


async def ralph(loop: Ralph, setup: Setup, caps: Caps) -> OuterReport:
    """Run iterations until the plan is empty, somebody stops it, a cap is reached or nothing moves.

    Everything is on disk: a process that was killed is followed by one that calls this again with
    the same directory. Raises `ValueError` without a plan or an item in it, `RunBusy` while another
    process works there.
    """
    shelf = Shelf(loop.keep or loop.root / ".ralph")
    with shelf.claim() as book:
        return await _Ralph(loop, setup, caps, shelf, book).go()


class _Ralph:
    """One process's part of a loop."""

    def __init__(self, loop: Ralph, setup: Setup, caps: Caps, shelf: Shelf, book: Book) -> None:
        self.loop, self.setup, self.caps, self.shelf, self.book = loop, setup, caps, shelf, book
        self.plan = PlanFile(loop.root / loop.plan)

    async def go(self) -> OuterReport:
        if self.book.stopped:
            self.book.stopped, self.book.fruitless, self.book.failures = False, 0, 0
        if not self.book.all:  # later it is the agent's work that nothing is left of it
            self.plan.refuse_empty()
        self.book.progress(open=len(self.plan.open()))
        while True:
            stop = self._stop() or await self._iterate()
            if stop is not None:
                return self._report(stop)

    def _report(self, stop: OuterStop) -> OuterReport:
        self.book.stopped = True
        self.shelf.save(self.book)
        last = self.book.iterations[-1:]
        verified = bool(last and last[0].verified) and not self.plan.open()
        return OuterReport("ralph", list(self.book.all), stop, verified)

    def _stop(self) -> OuterStop | None:
        """Why there is no further iteration."""
        book, left = self.book, self.plan.open()
        if self.setup.cancel.cancelled:
            return OuterStop(OuterKind.USER, evidence={"reason": self.setup.cancel.reason})
        if self.shelf.stop_asked:
            file = str(self.shelf.directory / "stop")
            there = {"reason": f"there is a file {file}", "file": file}
            return OuterStop(OuterKind.USER, evidence=there)
        if book.begun is None and not left:
            return OuterStop(OuterKind.PLAN_EMPTY)
        if book.failures >= self.loop.failures:
            last = book.iterations[-1].reason
            return limit(OuterKind.FAILURES, book.failures, self.loop.failures, last)
        if book.fruitless >= self.loop.rounds:
            words = f"{len(left)} items left, first: {', '.join(left[:1])}"
            return limit(OuterKind.NO_PROGRESS, book.fruitless, self.loop.rounds, words)
        return self.caps.reached(book.spent())

    async def _iterate(self) -> OuterStop | None:
        """One run, and what the loop makes of it; a run that an earlier process began goes on."""
        began = self.setup.clock.monotonic()
        begun, state = self._begin()
        own = Spent(0, begun.cost_usd, begun.input_tokens + begun.output_tokens, begun.seconds)
        room = self.caps.room(self.book.spent(), own)
        await self.setup.run(state, room)
        seconds = begun.seconds + self.setup.clock.monotonic() - began
        begun = msgspec.structs.replace(begun, **used(state), seconds=seconds)
        stop, capped = needs_person(state), hit(room, state)
        if capped is not None and not state.turns:  # nothing was left to begin with
            self.book.begun = None
            return capped
        if stop is not None and not state.resumable:  # whoever mends it needs a new run
            self._end(self._held_to(begun, None), run_failed=True)
            return stop
        if stop is None and not self.setup.cancel.cancelled:
            begun, stop = await self._checked(begun, state)
        if stop is not None or self.setup.cancel.cancelled:
            self.book.begun = begun
            return stop or self._stop()
        self._end(begun, run_failed=failed(state))
        return self._marked(state) or capped

    def _begin(self) -> tuple[Iteration, RunState]:
        begun = self.book.begun
        state = None if begun is None else self.setup.store.find(begun.run_id)
        if begun is None or state is None:
            begun = self._new(begun)
            state = RunState.start(
                self._prompt(begun.task), system=self.loop.system, run_id=begun.run_id
            )
        self.setup.say(f"iteration {begun.number}: {begun.task}")
        return begun, state

    def _new(self, gone: Iteration | None) -> Iteration:
        """A new iteration; or one more try at one whose run is `gone` with its process."""
        book = self.book
        tries = 0 if gone is None else int(gone.run_id.rpartition(".")[2]) + 1
        begun = Iteration(
            book.number,
            f"{book.id}-{book.number}.{tries}",
            self.setup.clock.time(),
            task=self.plan.open()[0] if gone is None else gone.task,
            lost=gone is not None,
        )
        if gone is None:
            book.done = self.plan.done()
        book.begun = begun
        self.shelf.save(book)
        return begun

    def _prompt(self, item: str) -> str:
        names = {"{plan}": self.loop.plan, "{progress}": self.loop.progress, "{item}": item}
        text = self.loop.prompt
        for name, value in names.items():  # not format(): a prompt may hold braces of its own
            text = text.replace(name, value)
        marker = self.loop.marker
        return text if marker is None else text + ENDING.format(marker=marker)

    async def _checked(
        self, begun: Iteration, state: RunState
    ) -> tuple[Iteration, OuterStop | None]:
        """The iteration with what the check says of it; a check that breaks stops the loop."""
        if self.loop.check is None:
            return self._held_to(begun, None), None
        beside = Beside(self.setup.cancel)
        claim = Claim(state.answer, state, self.setup.cancel, beside.ask, beside.charge)
        verdict = await asked(self.loop.check, claim)
        if verdict.kind == "error":
            verdict = await asked(self.loop.check, claim)
        begun = msgspec.structs.replace(
            begun,
            input_tokens=begun.input_tokens + beside.input_tokens,
            output_tokens=begun.output_tokens + beside.output_tokens,
            cost_usd=begun.cost_usd + beside.cost_usd,
            unpriced=begun.unpriced + beside.unpriced,
        )
        if verdict.kind == "error":
            broken = {"error": f"the check cannot be made: {verdict.feedback}"}
            return begun, OuterStop(OuterKind.NEEDS_PERSON, evidence=broken)
        return self._held_to(begun, verdict), None

    def _held_to(self, begun: Iteration, verdict: Verdict | None) -> Iteration:
        """Open again what was ticked without right: all where the check fails, else all but one."""
        ticked = [item for item in self.plan.done() if item not in self.book.done]
        passes = verdict is not None and verdict.kind == "pass"
        notes: list[str] = []
        if verdict is not None and not passes:
            notes.append(f"check: {verdict.kind}, {verdict.feedback.partition(chr(10))[0][:120]}")
        elif begun.task in ticked:
            ticked.remove(begun.task)
        self.plan.reopen(ticked)
        notes += [f"opened again: {item}" for item in ticked]
        left = len(self.plan.open())
        measure = None if verdict is None else verdict.evidence.get("measure")
        better = self.book.progress(open=left, measure=measure)
        self.book.fruitless = 0 if better else self.book.fruitless + 1
        return msgspec.structs.replace(begun, open=left, verified=passes, notes=tuple(notes))

    def _end(self, ended: Iteration, *, run_failed: bool) -> None:
        """Write the iteration down: for the agent, for git if asked, and in the loop's own book."""
        line = progress_line(ended)
        path = self.loop.root / self.loop.progress
        known = path.read_text(encoding="utf-8") if path.exists() else ""
        if line not in known:  # a process that was killed here has written it already
            path.write_text(f"{known}{line}\n", encoding="utf-8")
        self.setup.say(line.removeprefix("- "))
        if self.loop.commit:
            self._commit(f"Iteration {ended.number}: {ended.task}")
        self.book.failures = self.book.failures + 1 if run_failed else 0
        self.book.iterations.append(ended)
        self.book.begun = None
        self.shelf.save(self.book)

    def _commit(self, message: str) -> None:
        for command in (["git", "add", "-A"], ["git", "commit", "-q", "-m", message]):
            finished = run_process(command, cwd=self.loop.root, timeout=60)
            if finished.status != 0:
                self.setup.say(f"git: {finished.output.strip() or 'nothing to commit'}")
                return

    def _marked(self, state: RunState) -> OuterStop | None:
        """The end that the agent asked for, if it may: only while the check passes."""
        marker = self.loop.marker
        if marker is None or not has_marker(state.answer, marker):
            return None
        if self.loop.check is None or self.book.iterations[-1].verified:
            return OuterStop(OuterKind.MARKER, evidence={"reason": marker})
        self.setup.say(f"“{marker}” was said, but the check does not pass")
        return None


def limit(kind: OuterKind, value: int, most: int, reason: str) -> OuterStop:
    """A stop at a number of iterations, with a word on why."""
    return OuterStop(kind, str(value), str(most), {"reason": reason})


def progress_line(ended: Iteration) -> str:
    """What is appended to the progress file of an iteration."""
    parts = [
        f"iteration {ended.number}: {ended.task}",
        ended.reason,
        f"{ended.open} open",
        "1 turn" if ended.turns == 1 else f"{ended.turns} turns",
        "cost unknown" if ended.unpriced else f"${ended.cost_usd:f}",
        *ended.notes,
    ]
    return "- " + " · ".join(parts)
