from agents import agent


def test_shown(fake_provider):
    with fake_provider.run("runaway") as run:
        agent(cap=2)
    assert run.tally.turns == 3
