"""Forty turns of honest work: a cap cuts it, a progress detector must not."""

from scenarios.scenario import Scenario

PARTS = {f"part-{number:02}.txt": f"Part {number} of 38." for number in range(1, 39)}

LONG = Scenario(
    name="long",
    script="long",
    about="reads 38 different files, one a turn, then answers on turn 40",
    expect="completed unless a cap cuts it; never stopped for lack of progress",
    task="Read all parts and tell me how many there are.",
    files=PARTS,
)
