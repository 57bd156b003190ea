"""What the code decides about a call, in the words that the model reads."""

from __future__ import annotations

from collections.abc import Sequence

from fakeprovider_harness.outcomes import Stop

EMPTY_REPLY = "(empty reply)"  # an assistant message must say something
ASK_AGAIN = "Your last reply was empty. Call a tool, or answer in text."
GO_ON = "Your last reply was cut off at the output limit. Go on exactly where it stopped."

RESULT_LOST = "Not known: the result of this call is no longer part of the conversation."

CUT_TOO = "Not run: cut off."
KNOWN_TO_FAIL = "Not run: this very call failed before, for good. Do something else."
FINISHED = "Not run: the run was finished by the call before."
SUPERSEDED = "Not run: nobody decided on this call before the user wrote something new."
REPEATS_UNKNOWN = "an earlier call like this one may have taken effect, nobody knows"
EXPIRED = (
    "it was approved before, but was not begun within the time that the approval was given for"
)

OPAQUE = "Error: the tool failed."
NO_OUTPUT = "(no output)"


def declined(reason: str | None) -> str:
    """A person said no."""
    why = f" Reason: {reason}" if reason and reason.strip() else ""
    return f"The user declined this call: it was rejected and not run.{why}"


def denied(why: str) -> str:
    """A rule says no, whoever asks."""
    return f"Denied: {why} Nothing was run."


def not_run(stop: Stop | None) -> str:
    """The run was left while the call waited."""
    return f"Not run: {'the run was left' if stop is None else f'stopped by {stop}'}."


def vetoed(stop: Stop) -> str:
    """A limit lets the run go on, without this call."""
    return f"Not run: {stop.kind} allows {stop.limit}. Go on without further calls of this kind."


def looping(tools: Sequence[str], times: int) -> str:
    """The same calls brought the same results, again and again."""
    return (
        f"You have called {', '.join(tools)} {times} times over with the same arguments and got "
        "the same results. Asking again will change nothing: do something else, or say what "
        "keeps you from going on."
    )


def clipped(out: int, size: int) -> str:
    """A result is longer than what requests carry of it."""
    return (
        f"[{out:,} of {size:,} characters are left out here. The whole result is kept with the "
        "run, but cannot be sent; ask for less at a time.]"
    )


def may_have(text: str) -> str:
    """The call failed in a way that leaves open whether it took effect."""
    return f"{text.rstrip('.')}. It may have taken effect; check before repeating it."


def undecided(limit: float) -> str:
    """Nobody decided in time."""
    return f"Not run: nobody approved it within {limit:g} s."


def edited(arguments: str) -> str:
    """A person changed what the call does."""
    return f"(The user changed the arguments to {arguments}.)"


def not_finished(failed: Sequence[str]) -> str:
    """The run may not end on calls that came to nothing."""
    return f"Error: not finished: {', '.join(failed)} did not succeed. Deal with that first."


def too_deep(depth: int) -> str:
    """Sub-agents may not go deeper."""
    who = "No agent" if depth == 0 else "An agent at this level"
    return f"Not started: {who} may start agents here. Do the work yourself with the other tools."


def too_many_agents(most: int) -> str:
    """The tree has all the agents it may have."""
    return f"Not started: all {most} agents allowed have been started. Do the work yourself."


def cut_off(finish: str) -> str:
    """The reply that held the call did not come to its end."""
    if finish == "length":
        return (
            "Not run: the reply was cut off at the output limit. Send the call in smaller pieces."
        )
    return f"Not run: the reply ended with {finish}."


def not_done(feedback: str, count: int, rounds: int | None) -> str:
    """A claim to be done did not pass its check."""
    which = f"check {count}" if rounds is None else f"check {count} of {rounds}"
    return f"Not done yet ({which} failed): {feedback}"


def interrupted() -> str:
    """The process died while the call ran."""
    return (
        "Interrupted: this call was running when the process ended. It may have taken effect; "
        "check before repeating it."
    )


def not_repeated(reason: str | None) -> str:
    """A person said not to run an interrupted call again."""
    why = f" Reason: {reason}" if reason and reason.strip() else ""
    return f"{interrupted()} The user declined to run it again.{why}"


def gone(name: str) -> str:
    """The tool was there when the call was made."""
    return f"Error: the tool {name} is no longer available; nothing was run."


def left_out(size: int, recall: str, number: int) -> str:
    """An old result that requests do not carry any more."""
    if recall:
        return f"[note {number}: {size} characters left out; {recall}({number}) returns them]"
    return f"[{size} characters left out; call again if they are needed]"


def unsendable(value: object, why: Exception) -> str:
    """The tool did its work, and what it returned cannot be told."""
    return (
        f"the tool was run, but its result, of type {type(value).__name__}, cannot be sent "
        f"({why}). A tool returns text, a ToolResult, None, or what JSON can hold."
    )


def permanent(text: str) -> str:
    """The error will not go away."""
    return f"{text.rstrip('.')}. This is permanent: do not retry."


def given_up(why: str, *, ended: bool, effects: bool, said: str) -> str:
    """The call was told to stop: `why`, and what is known of it."""
    words = [f"{why}."]
    if not ended:
        words.append("The tool did not stop when told to and may still be running.")
    if effects:
        words.append("It may have taken effect; check before repeating it.")
    if said:
        words.append(f"Until then: {said}")
    return " ".join(words)
