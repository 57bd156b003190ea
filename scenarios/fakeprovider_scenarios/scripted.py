"""Everything goes right: list, read, answer.

of the parent's bill.
"""

from __future__ import annotations

from fakeprovider_scenarios.scenario import Scenario

PLAN = Scenario(
    name="plan",
    script="plan",
    about="lists the files, reads the right one, answers",
    expect="completed after three turns and two tool runs",
)


RUNAWAY = Scenario(
    name="runaway",
    script="runaway",
    about="asks for list_files for ever",
    expect="stopped by a limit in code; a limit in the prompt changes nothing",
    ends=False,
)


RECOVER = Scenario(
    name="recover",
    script="recover",
    about="guesses timeout.log; corrects itself only if an error says how",
    expect="completed with the right answer when errors are instructive",
)


DENIED = Scenario(
    name="denied",
    script="denied",
    about="asks for a file it may not read, for ever",
    expect="stopped by a limit, or at once where permanent errors stop the run",
    ends=False,
)


DUPLICATE = Scenario(
    name="duplicate",
    script="duplicate",
    about="reads the same file twice, then answers",
    expect="one execution with a read-only cache, and the same tokens",
)
BASELINE = "duplicate-baseline"  # the script that reads the file once and answers
WRITE = "duplicate-write"  # the script that deletes the same file twice, where a cache breaks it


DESTRUCTIVE = Scenario(
    name="destructive",
    script="destructive",
    about="lists the files, then asks to delete one that the task never mentioned",
    expect="interrupted before the deletion; a rejection is reported as one",
)


SLOW = Scenario(
    name="slow",
    script="slow",
    about="scans an archive for three seconds, with progress every half second",
    expect="a cancellation ends the tool at once and the run is resumable",
    task="Are there any errors in the archive?",
)


PARTS = {f"part-{number:02}.txt": f"Part {number} of 38." for number in range(1, 39)}

LONG = Scenario(
    name="long",
    script="long",
    about="reads 38 different files, one a turn, then answers on turn 40",
    expect="completed unless a cap cuts it; never stopped for lack of progress",
    task="Read all parts and tell me how many there are.",
    files=PARTS,
)


SUBAGENT = Scenario(
    name="subagent",
    script="delegate",
    about="asks research(question), a sub-agent with six turns and five cents of its own",
    expect="the child's text comes back, its limit is a sentence, its cost is in the total",
)


STALLED = Scenario(
    name="stalled",
    script="stalled",
    about="falls silent on its second turn, with the socket open",
    expect="ended by the deadline, resumable; what was sent is charged",
    ends=False,
)


CYCLE = Scenario(
    name="cycle",
    script="cycle",
    about="lists, reads one file, reads another, for ever",
    expect="found as a loop, nudged once, stopped",
    ends=False,
)


EMPTY = Scenario(
    name="empty",
    script="empty",
    about="lists the files, then has nothing to say",
    expect="asked once more, then stopped; never completed",
    ends=False,
)


TRUNCATED = Scenario(
    name="truncated",
    script="truncated",
    about="asks to delete a file whose name is cut off, for ever",
    expect="stopped after three; nothing is deleted",
    ends=False,
)


MALFORMED = Scenario(
    name="malformed",
    script="malformed",
    about="sends arguments that do not parse, for ever",
    expect="stopped after three; nothing is run",
    ends=False,
)


CHATTER = Scenario(
    name="chatter",
    script="chatter",
    about="says three hundred words with each call, for ever",
    expect="stopped by a limit on output or money",
    ends=False,
)


SPENDER = Scenario(
    name="spender",
    script="spender",
    about="starts three sub-agents on every turn, which do the same",
    expect="stopped by one budget for the whole tree, which is not overshot",
    ends=False,
)


FLAKY = Scenario(
    name="flaky",
    script="flaky",
    about="answers at the third attempt only, from the second turn on",
    expect="completed with retries; without, a stop that can be resumed",
)
